// SPDX-License-Identifier: Apache-2.0
// A chain: 1x1, 3x3, 1x1 with what is added to it, the bottleneck of ResNets.
#include <algorithm>

#include "backends/cuda/families/bottleneck/bottleneck.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/tensor_map.h"
#include "core/divide.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using bottleneck::Bottleneck;
using bottleneck::kChannels;
using bottleneck::Shortcut;

constexpr s64 kMostGroups = 4;  // of 64 channels of y: what is added to them waits in registers
constexpr s64 kMostProjected =
    2;  // chunks of 64 channels of x that a projection holds in registers
constexpr s64 kTmaAlignment = 16;

// Nodes; -1 where there is none.
struct Parts {
  s32 reduce = -1, spatial = -1, expand = -1, project = -1;
  ValueId shortcut = kNoValue;
};

bool is_convolution(const Graph& graph, s32 n, s64 kernel) {
  if (n < 0) return false;
  const Node& node = graph.nodes[static_cast<size_t>(n)];
  if (node.op->name != "QConv") return false;
  const Tensor* weights = graph.constant_input(node, kProductWeights);
  return weights != nullptr && weights->shape().rank() == 4 && weights->shape()[2] == kernel &&
         weights->shape()[3] == kernel;
}

// `expand` is -1 where the node ends no bottleneck.
Parts parts_of(const Graph& graph, const Uses& uses, u32 last) {
  const auto input = [&](s32 n, size_t i) { return graph.nodes[static_cast<size_t>(n)].input(i); };
  Parts parts;
  const s32 expand = static_cast<s32>(last);
  if (!is_convolution(graph, expand, 1)) return parts;
  parts.spatial = uses.producer(input(expand, kProductX));
  if (!is_convolution(graph, parts.spatial, 3)) return parts;
  parts.reduce = uses.producer(input(parts.spatial, kProductX));
  if (!is_convolution(graph, parts.reduce, 1)) return parts;
  const ValueId x = input(parts.reduce, kProductX);
  const ValueId residual = input(expand, kProductResidual), addend = input(expand, kProductAddend);
  parts.shortcut = residual != kNoValue ? residual : addend;
  if (parts.shortcut != kNoValue && parts.shortcut != x) {
    if (graph.is_constant(parts.shortcut)) return parts;
    parts.project = uses.producer(parts.shortcut);
    if (!is_convolution(graph, parts.project, 1) || input(parts.project, kProductX) != x)
      return parts;
  }
  parts.expand = expand;
  return parts;
}

std::string read_part(const LowerRequest& request, s32 part, const char* name, ConvRequest& conv) {
  const LowerRequest alone = part_request(request, static_cast<size_t>(part));
  std::string reason = read_conv(alone, conv);
  if (reason.empty() && conv.geometry.groups != 1) reason = "it has groups";
  if (reason.empty() && conv.product.table) reason = "it has a table";
  if (reason.empty() && conv.product.real()) reason = "its result is real";
  conv.t_fits = reason.empty() && conv.sums_fit();
  return reason.empty() ? "" : fmt::format("{}: {}", name, reason);
}

EpilogueSpec end_of(const ConvRequest& conv) {
  EpilogueSpec end = epilogue_spec(conv.product);
  end.t_fits = conv.t_fits;
  return end;
}

// Without what y's place and the chip decide.
bottleneck::Spec spec_of(const Bottleneck& block, Shortcut shortcut) {
  const ConvRequest& y = block.expand;
  return {.width = field_of(y.w().out),
          .height = field_of(y.h().out),
          .rows = field_of(y.geometry.batch * y.h().out),
          .chunks = field_of(ceil_div(block.reduce.cin(), s64{kChannels})),
          .cout = field_of(y.cout()),
          .shortcut = shortcut,
          .x_signed = block.reduce.product.x_s8,
          .reduced_signed = block.spatial.product.x_s8,
          .spatial_signed = y.product.x_s8,
          .border = block.spatial.product.epilogue.zero_point(kProductX),
          .y = {},
          .y_access = 1,
          .warpgroups = 3,
          .stages = 2,
          .bias_added = false,
          .reduce = end_of(block.reduce),
          .spatial = end_of(block.spatial),
          .expand = end_of(y),
          .project = shortcut == Shortcut::projection ? end_of(block.project) : EpilogueSpec{}};
}

std::string read_bottleneck(const LowerRequest& request, Bottleneck& block) {
  const Graph& body = chain_body(request.node);
  const Parts parts = parts_of(body, Uses(body), static_cast<u32>(body.nodes.size() - 1));
  const Shortcut shortcut = parts.shortcut == kNoValue ? Shortcut::none
                            : parts.project < 0        ? Shortcut::identity
                                                       : Shortcut::projection;
  std::string reason = read_part(request, parts.reduce, "reduce", block.reduce);
  if (reason.empty()) reason = read_part(request, parts.spatial, "spatial", block.spatial);
  if (reason.empty()) reason = read_part(request, parts.expand, "expand", block.expand);
  if (reason.empty() && parts.project >= 0)
    reason = read_part(request, parts.project, "project", block.project);
  if (reason.empty()) block.spec = spec_of(block, shortcut);
  return reason;
}

bool is_plain_window(const WindowAxis& axis) {
  return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && axis.pad_begin == 1 &&
         axis.pad_end == 1;
}

// One of them is added to y; the others end with their own codes.
bool adds_once(const Bottleneck& block) {
  const auto adds = [](const ConvRequest& conv) {
    return int{conv.product.has_residual} + int{conv.product.has_addend};
  };
  if (adds(block.reduce) + adds(block.spatial) > 0) return false;
  if (block.projects() && adds(block.project) > 0) return false;
  return adds(block.expand) <= 1;
}

std::string reject(const Bottleneck& block) {
  const bool projects = block.projects();
  if (!block.reduce.pointwise() || !block.expand.pointwise() ||
      (projects && !block.project.pointwise()))
    return "a 1x1 convolution has a stride or padding";
  if (!is_plain_window(block.spatial.h()) || !is_plain_window(block.spatial.w()))
    return "the 3x3 convolution has a stride, a dilation or other padding than 1";
  if (!adds_once(block)) return "more than its shortcut is added";
  if (block.reduce.cin() % kTmaAlignment != 0) return "input channels are not a multiple of 16";
  if (std::max(block.reduce.cout(), block.spatial.cout()) > kChannels)
    return fmt::format("{} channels pass between its convolutions, at most {} may",
                       std::max(block.reduce.cout(), block.spatial.cout()), kChannels);
  if (groups(block.spec) > kMostGroups)
    return fmt::format("it has {} output channels, at most {} may be", block.expand.cout(),
                       kMostGroups * kChannels);
  if (projects && block.spec.chunks > kMostProjected)
    return fmt::format("its projection has {} input channels, at most {} may be",
                       block.project.cin(), kMostProjected * kChannels);
  if (block.expand.w().out > kChannels)
    return fmt::format("a row has {} pixels, at most {} may be", block.expand.w().out, kChannels);
  return {};
}

// The most rows of x in flight that fit; false: not even the fewest do.
bool set_stages(bottleneck::Spec& spec, const Chip& chip) {
  constexpr s32 kMost = 4, kFewest = 2;
  for (spec.stages = kMost; spec.stages >= kFewest; --spec.stages) {
    if (memory(spec).all <= chip.shared_bytes_per_block) return true;
  }
  return false;
}

Launch bottleneck_launch(const Bottleneck& block, const Chip& chip, const BindArgs& bind) {
  constexpr s64 kWidest = 16;
  bottleneck::Spec spec = block.spec;
  spec.y = block.expand.output_strides(bind.outputs[0]);
  spec.y_access = field_of(common_power(
      kWidest, {spec.cout, spec.y.image, spec.y.row, spec.y.pixel, bind.output_offset(0)}));
  return {.source = source_of("bottleneck", spec),
          .shape = {.blocks = std::min<s64>(spec.rows, chip.multiprocessors),
                    .threads = threads(spec),
                    .shared_bytes = memory(spec).all,
                    .programmatic_dependent = true}};
}

bottleneck::Params bottleneck_params(const Bottleneck& block, const PixelStrides& x,
                                     const StepData& data) {
  const s64 tile_rows = s64{tiles(block.spec).all} * kChannels;
  const WindowAxis &h = block.reduce.h(), &w = block.reduce.w();
  const ImageMap image{{block.reduce.cin(), w.in, h.in, block.reduce.geometry.batch},
                       {x.pixel, x.row, x.image},
                       kChannels};
  const CudaDevice& device = cuda_queue(data.args).device();
  bottleneck::Params p{};
  p.x = tile_map(device, image, w.in, 1, data.input(0));
  p.weights =
      rows_map(device, {kChannels, tile_rows, kChannels, kChannels, kChannels}, data.blob<u8>(0));
  p.scales = data.blob<f32>(1);
  p.biases = block.spec.bias_added ? data.blob<s32>(2) : nullptr;
  p.out = data.output();
  return p;
}

// Each warpgroup walks its share of the rows, and reduces one more at both ends; those that share a multiprocessor wait for each other. The
// terms are a fit to ResNet-50's, at batches of 1 to 256.
f64 bottleneck_cost(const Bottleneck& block, const Chip& chip) {
  const Costs& costs = chip.costs();
  const f64 chunks = static_cast<f64>(block.spec.chunks),
            groups = static_cast<f64>(bottleneck::groups(block.spec));
  // Of 64 channels, their bias included.
  const auto end_of = [&](f64 products) {
    return (products + 1) * costs.bottleneck_product + costs.bottleneck_end;
  };
  const f64 reduce = end_of(2 * chunks) + chunks * costs.bottleneck_chunk;
  f64 rest = end_of(2 * 9) + groups * end_of(2);
  if (block.projects()) rest += groups * end_of(2 * chunks);
  const s64 blocks = std::min<s64>(s64{block.spec.rows}, chip.multiprocessors);
  const s64 rows = ceil_div(s64{block.spec.rows}, blocks * block.spec.warpgroups);
  const s64 walks = std::min<s64>(ceil_div(s64{block.spec.rows}, blocks), block.spec.warpgroups);
  const f64 alone = static_cast<f64>(rows) * rest + static_cast<f64>(rows + 2) * reduce;
  const f64 beside = costs.bottleneck_beside * static_cast<f64>(walks - 1);
  const f64 busy = costs.bottleneck_start + alone * (1 + beside);
  const f64 bytes = static_cast<f64>(block.reduce.x.elements() + block.expand.y.elements());
  return std::max(busy, bytes_cost(bytes, chip));
}

}  // namespace

std::vector<u32> find_bottleneck(const Graph& graph, const Uses& uses, u32 last) {
  const Parts parts = parts_of(graph, uses, last);
  if (parts.expand < 0 || (parts.project >= 0 && parts.project == parts.reduce)) return {};
  std::vector<u32> nodes;
  for (const s32 n : {parts.reduce, parts.spatial, parts.expand, parts.project}) {
    if (n >= 0) nodes.push_back(static_cast<u32>(n));
  }
  std::ranges::sort(nodes);
  return nodes;
}

Offer offer_bottleneck(const LowerRequest& request) {
  const CudaDevice& device = device_of(request);
  if (std::string reason = device.chip().reject_without({Instruction::wgmma, Instruction::tma});
      !reason.empty())
    return Reject{reason};
  Bottleneck block;
  if (std::string reason = read_bottleneck(request, block); !reason.empty()) return Reject{reason};
  if (std::string reason = reject(block); !reason.empty()) return Reject{reason};
  block.spec.bias_added = !biases_have_digits(block);
  if (!set_stages(block.spec, device.chip()))
    return Reject{"its weights and rows do not fit the chip"};
  Candidate candidate = conv_candidate(
      request, fmt::format("bottleneck_{}x{}", block.spec.warpgroups, block.spec.stages),
      Layout::nhwc);
  candidate.by_image = false;
  candidate.alignment = kTmaAlignment;
  candidate.cost = bottleneck_cost(block, device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_wgmma_s8 * device.chip().multiprocessors;
  set_placed_step(candidate, device,
                  {.make_launch =
                       [block, &device](const BindArgs& bind) {
                         return bottleneck_launch(block, device.chip(), bind);
                       },
                   .recipes = [block](const BindArgs&) { return bottleneck::blobs_of(block); }},
                  [block](const BindArgs& bind) {
                    const PixelStrides x = block.reduce.input_strides(bind.inputs[0]);
                    return [block, x](const StepData& data) {
                      return bottleneck_params(block, x, data);
                    };
                  });
  return candidate;
}

}  // namespace octet::cuda
