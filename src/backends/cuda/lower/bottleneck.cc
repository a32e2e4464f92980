// SPDX-License-Identifier: Apache-2.0
// A chain: 1x1, 3x3, 1x1 with what is added to it, the bottleneck of ResNets (kernels/bottleneck.cu).
#include "backends/cuda/lower/bottleneck.h"

#include <algorithm>

#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/tensor_map.h"
#include "core/divide.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

constexpr s64 kMostGroups = 4;  // of 64 channels of y: what is added to them waits in registers
constexpr s64 kMostProjected =
    2;  // chunks of 64 channels of x that a projection holds in registers
constexpr s64 kSwizzle = 512, kAlignment = 1024, kTmaAlignment = 16;

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

std::string read_bottleneck(const LowerRequest& request, Bottleneck& block) {
  const Graph& body = chain_body(request.node);
  const Parts parts = parts_of(body, Uses(body), static_cast<u32>(body.nodes.size() - 1));
  block.shortcut = parts.shortcut == kNoValue ? Shortcut::none
                   : parts.project < 0        ? Shortcut::identity
                                              : Shortcut::projection;
  std::string reason = read_part(request, parts.reduce, "reduce", block.reduce);
  if (reason.empty()) reason = read_part(request, parts.spatial, "spatial", block.spatial);
  if (reason.empty()) reason = read_part(request, parts.expand, "expand", block.expand);
  if (reason.empty() && parts.project >= 0)
    reason = read_part(request, parts.project, "project", block.project);
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
  if (block.shortcut == Shortcut::projection && adds(block.project) > 0) return false;
  return adds(block.expand) <= 1;
}

std::string reject(const Bottleneck& block) {
  constexpr s64 kWidth = Bottleneck::kWidth;
  const bool projects = block.shortcut == Shortcut::projection;
  if (!block.reduce.pointwise() || !block.expand.pointwise() ||
      (projects && !block.project.pointwise()))
    return "a 1x1 convolution has a stride or padding";
  if (!is_plain_window(block.spatial.h()) || !is_plain_window(block.spatial.w()))
    return "the 3x3 convolution has a stride, a dilation or other padding than 1";
  if (!adds_once(block)) return "more than its shortcut is added";
  if (block.reduce.cin() % kTmaAlignment != 0) return "input channels are not a multiple of 16";
  if (std::max(block.reduce.cout(), block.spatial.cout()) > kWidth)
    return fmt::format("{} channels pass between its convolutions, at most {} may",
                       std::max(block.reduce.cout(), block.spatial.cout()), kWidth);
  if (block.groups() > kMostGroups)
    return fmt::format("it has {} output channels, at most {} may be", block.expand.cout(),
                       kMostGroups * kWidth);
  if (projects && block.chunks() > kMostProjected)
    return fmt::format("its projection has {} input channels, at most {} may be",
                       block.project.cin(), kMostProjected * kWidth);
  if (block.expand.w().out > kWidth)
    return fmt::format("a row has {} pixels, at most {} may be", block.expand.w().out, kWidth);
  return {};
}

// Where things lie in shared memory, in bytes.
struct Memory {
  s64 chunk, x_row, slot, ring;  // sizes
  s64 x, rings, scales, biases, barriers, all;

  explicit Memory(const Bottleneck& block) {
    constexpr s64 kWidth = Bottleneck::kWidth, kWord = 4, kBarrier = 8, kSlots = 3, kTaps = 3;
    const auto up = [](s64 bytes, s64 to) { return ceil_div(bytes, to) * to; };
    const s64 pixels = block.expand.w().out;
    chunk = up(pixels * kWidth, kSwizzle);
    x_row = block.chunks() * chunk;
    slot = (pixels + kTaps - 1) * kWidth;
    ring = up(kSlots * slot, kSwizzle);
    x = BottleneckTiles(block).all * Bottleneck::kTileBytes;
    rings = x + block.warpgroups * block.stages * x_row;
    scales = rings + block.warpgroups * ring;
    biases = scales + block.ends() * kWidth * kWord;
    barriers = biases + (block.bias_added ? block.ends() * kWidth * kWord : 0);
    all = barriers + kBarrier * (1 + block.warpgroups * (block.stages + 1));
    // Products read 64 rows from any tap of the last slot and from the last chunk of x, however few pixels there are.
    const s64 last_slot = scales - ring + (kSlots - 1) * slot;
    all = std::max(all, last_slot + (kWidth + kTaps - 1) * kWidth);
    all = std::max(all, rings - chunk + kWidth * kWidth) + kAlignment;
  }
};

// The most rows of x in flight that fit; false: not even the fewest do.
bool set_stages(Bottleneck& block, const Chip& chip) {
  constexpr s64 kMost = 4, kFewest = 2;
  for (block.stages = kMost; block.stages >= kFewest; --block.stages) {
    if (Memory(block).all <= chip.shared_bytes_per_block) return true;
  }
  return false;
}

void set_memory(KernelSource& source, const Bottleneck& block) {
  const Memory memory(block);
  const BottleneckTiles tiles(block);
  source.set("TILES", tiles.all), source.set("W_SPATIAL", tiles.spatial);
  source.set("W_EXPAND", tiles.expand), source.set("W_PROJECT", tiles.project);
  source.set("W_BIAS", tiles.bias), source.set("BIAS_ADDED", s64{block.bias_added});
  source.set("CHUNK_BYTES", memory.chunk), source.set("OFF_X", memory.x);
  source.set("OFF_RING", memory.rings), source.set("OFF_SCALES", memory.scales);
  source.set("OFF_BIASES", memory.biases), source.set("OFF_BARRIERS", memory.barriers);
}

void set_ends(KernelSource& source, const Bottleneck& block) {
  const auto add = [&](const char* name, const ConvRequest& conv) {
    add_epilogue(source, name, conv.product, conv.t_fits);
  };
  add("reduce", block.reduce);
  add("spatial", block.spatial);
  add("expand", block.expand);
  if (block.shortcut == Shortcut::projection) add("project", block.project);
}

// Four codes of the reduced row's zero point.
s64 border_word(const Bottleneck& block) {
  constexpr s64 kFour = 0x01010101, kByte = 255;
  return (block.spatial.product.epilogue.zero_point(kProductX) & kByte) * kFour;
}

Launch bottleneck_launch(const Bottleneck& block, const Chip& chip, const BindArgs& bind) {
  constexpr s64 kWidest = 16;
  constexpr int kWarpgroup = 128;
  const PixelStrides y = block.expand.output_strides(bind.outputs[0]);
  Launch launch{.source = {"bottleneck", {}}, .shape = {}};
  KernelSource& source = launch.source;
  source.set("WI", block.expand.w().out), source.set("HI", block.expand.h().out);
  source.set("ROWS", block.rows());
  source.set("CHUNKS", block.chunks()), source.set("GROUPS", block.groups());
  source.set("COUT", block.expand.cout());
  source.set("SHORTCUT", static_cast<s64>(block.shortcut));
  source.set("X_S8", s64{block.reduce.product.x_s8});
  source.set("REDUCED_S8", s64{block.spatial.product.x_s8});
  source.set("SPATIAL_S8", s64{block.expand.product.x_s8});
  source.set("BORDER", border_word(block));
  source.set("BN", Bottleneck::kWidth), source.set("BKI", Bottleneck::kWidth);
  source.set("NWG", block.warpgroups), source.set("STAGES", block.stages);
  set_strides(source, "Y", y);
  source.set("OUT_VEC", common_power(kWidest, {block.expand.cout(), y.image, y.row, y.pixel,
                                               bind.output_offset(0)}));
  set_memory(source, block);
  set_ends(source, block);
  launch.shape = {.blocks = std::min<s64>(block.rows(), chip.multiprocessors),
                  .threads = kWarpgroup * static_cast<int>(block.warpgroups),
                  .shared_bytes = Memory(block).all,
                  .programmatic_dependent = true};
  return launch;
}

params::BottleneckParams bottleneck_params(const Bottleneck& block, const PixelStrides& x,
                                           const StepData& data) {
  constexpr s64 kWidth = Bottleneck::kWidth;
  const s64 tile_rows = BottleneckTiles(block).all * kWidth;
  const WindowAxis &h = block.reduce.h(), &w = block.reduce.w();
  const ImageMap image{{block.reduce.cin(), w.in, h.in, block.reduce.geometry.batch},
                       {x.pixel, x.row, x.image},
                       kWidth};
  const CudaDevice& device = cuda_queue(data.args).device();
  params::BottleneckParams p{};
  p.x = tile_map(device, image, w.in, 1, data.input(0));
  p.weights = rows_map(device, {kWidth, tile_rows, kWidth, kWidth, kWidth}, data.blob<u8>(0));
  p.scales = data.blob<f32>(1);
  p.biases = block.bias_added ? data.blob<s32>(2) : nullptr;
  p.out = data.output();
  return p;
}

// Each warpgroup walks its share of the rows, and reduces one more at both ends; those that share a multiprocessor wait for each other. The
// constants are a fit to ResNet-50's on an H200, at batches of 1 to 256.
f64 bottleneck_cost(const Bottleneck& block, const Chip& chip) {
  constexpr f64 kProductCycles = 79, kEndCycles = 138, kChunkCycles = 118;
  constexpr f64 kStartCycles = 9000, kBesideAnother = 0.45;
  const f64 chunks = static_cast<f64>(block.chunks()), groups = static_cast<f64>(block.groups());
  // Of 64 channels, their bias included.
  const auto end_of = [&](f64 products) { return (products + 1) * kProductCycles + kEndCycles; };
  const f64 reduce = end_of(2 * chunks) + chunks * kChunkCycles;
  f64 rest = end_of(2 * 9) + groups * end_of(2);
  if (block.shortcut == Shortcut::projection) rest += groups * end_of(2 * chunks);
  const s64 blocks = std::min<s64>(block.rows(), chip.multiprocessors);
  const s64 rows = ceil_div(block.rows(), blocks * block.warpgroups);
  const s64 walks = std::min(ceil_div(block.rows(), blocks), block.warpgroups);
  const f64 alone = static_cast<f64>(rows) * rest + static_cast<f64>(rows + 2) * reduce;
  const f64 busy = kStartCycles + alone * (1 + kBesideAnother * static_cast<f64>(walks - 1));
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
  if (std::string reason = device.chip().reject_unless_hopper(); !reason.empty())
    return Reject{reason};
  Bottleneck block;
  if (std::string reason = read_bottleneck(request, block); !reason.empty()) return Reject{reason};
  if (std::string reason = reject(block); !reason.empty()) return Reject{reason};
  block.bias_added = !biases_have_digits(block);
  if (!set_stages(block, device.chip())) return Reject{"its weights and rows do not fit the chip"};
  Candidate candidate = conv_candidate(
      request, fmt::format("bottleneck_{}x{}", block.warpgroups, block.stages), Layout::nhwc);
  candidate.by_image = false;
  candidate.alignment = kTmaAlignment;
  candidate.cost = bottleneck_cost(block, device.chip());
  candidate.macs_per_cycle = kWgmmaRate * device.chip().multiprocessors;
  set_placed_step(candidate, device,
                  {.make_launch =
                       [block, &device](const BindArgs& bind) {
                         return bottleneck_launch(block, device.chip(), bind);
                       },
                   .recipes = [block](const BindArgs&) { return bottleneck_blobs(block); }},
                  [block](const BindArgs& bind) {
                    const PixelStrides x = block.reduce.input_strides(bind.inputs[0]);
                    return [block, x](const StepData& data) {
                      return bottleneck_params(block, x, data);
                    };
                  });
  return candidate;
}

}  // namespace octet::cuda
