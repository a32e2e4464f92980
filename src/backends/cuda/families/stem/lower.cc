// SPDX-License-Identifier: Apache-2.0
// The front of a network as one kernel: QuantizeLinear of an image, QConv of few channels with stride 2, and perhaps MaxPool of 3x3 with stride 2
// behind it.
#include <algorithm>
#include <limits>
#include <optional>

#include "backends/cuda/families/stem/spec.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"
#include "ops/shared/pool.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using stem::Spec;

constexpr s64 kStride = 2;  // of the convolution, and of the pool

struct Stem {
  ConvRequest conv;  // y: of the chain
  Shape image;
  f32 scale = 1.0f;
  std::optional<Window> pool;

  s64 before(const WindowAxis& axis) const { return (axis.pad_begin + 1) / kStride * kStride; }
  // Of a window in its first cell.
  s64 phase(const WindowAxis& axis) const { return before(axis) - axis.pad_begin; }
  s64 taps(const WindowAxis& axis) const { return ceil_div(axis.kernel + phase(axis), kStride); }
};

std::string read_image(const LowerRequest& request, Stem& stem) {
  const Tensor *scale = request.constant(1), *zero_point = request.constant(2);
  if (request.constant(0) != nullptr) return "the image is a constant";
  if (request.inputs[0].dtype != Dtype::f32) return "the image is not f32";
  if (scale == nullptr || scale->dtype() != Dtype::f32 || scale->elements() != 1)
    return "there is not one constant scale";
  s32 zero = 0;
  if (request.has_input(2)) {
    if (zero_point == nullptr || zero_point->elements() != 1) return "there is not one zero point";
    zero = zero_point->dtype() == Dtype::u8 ? s32{zero_point->as<u8>()[0]}
                                            : s32{zero_point->as<s8>()[0]};
  }
  if (zero != stem.conv.product.epilogue.zero_point(kProductX))
    return "the convolution has another zero point";
  stem.image = request.inputs[0].shape;
  stem.scale = scale->as<f32>()[0];
  return {};
}

std::string reject_conv(const Stem& stem) {
  constexpr s64 kMostChannels = 4, kMostOutputs = 64, kMostTaps = 4;
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  const ConvRequest& conv = stem.conv;
  if (conv.geometry.groups != 1) return "the convolution has groups";
  if (conv.cin() > kMostChannels) return "the image has more than 4 channels";
  if (conv.cout() > kMostOutputs) return "there are more than 64 channels";
  for (const WindowAxis& axis : {conv.h(), conv.w()}) {
    if (axis.stride != kStride || axis.dilation != 1) return "the stride is not 2";
    if (stem.taps(axis) > kMostTaps) return "the window is large";
    if (axis.pad_begin >= axis.kernel) return "the padding is larger than the window";
  }
  if (conv.product.real()) return "the result is no codes";
  if (conv.product.has_residual || conv.product.has_addend) return "something is added";
  return conv.x.elements() / conv.geometry.batch > kMost ? "the image is large" : "";
}

// Whether a larger sum has the larger code, and no sum wraps.
std::string reject_order(const Product& product, const ConvRequest& conv) {
  constexpr s64 kFar = 1 << 30;
  const Activation& activation = product.epilogue.activation;
  if (product.table) return "codes go through a table before the pool";
  if (activation.kind == Activation::Kind::leaky_relu && !(activation.alpha >= 0))
    return "the activation falls";
  if (!std::ranges::all_of(product.multiplier.as<f32>(), [](f32 m) { return m >= 0; }))
    return "a multiplier is negative";
  for (s64 c = 0; c < conv.cout(); ++c) {
    s64 sum = product.bias ? std::abs(s64{product.bias.as<s32>()[static_cast<size_t>(c)]}) : 0;
    conv.for_each_weight(c, [&](s64, s64, s8 weight) { sum += 2 * 255 * std::abs(s64{weight}); });
    if (sum >= kFar) return "sums may wrap";
  }
  return {};
}

std::string read_pool(const LowerRequest& request, Stem& stem) {
  if (request.outputs.size() > 1) return "the positions of the maxima are wanted";
  stem.pool = pool_geometry(request.node, request.inputs[0].shape).window;
  for (const WindowAxis& axis : {stem.pool->h(), stem.pool->w()}) {
    if (axis.kernel != 3 || axis.stride != kStride || axis.dilation != 1)
      return "the pool is not of 3x3 with stride 2";
    if (axis.pad_begin > 1 || (axis.out - 1) * axis.stride - axis.pad_begin >= axis.in)
      return "the pool has another padding";
  }
  return reject_order(stem.conv.product, stem.conv);
}

std::string read_stem(const LowerRequest& request, Stem& stem) {
  if (std::string reason = device_of(request).chip().reject_without({Instruction::wgmma});
      !reason.empty())
    return reason;
  if (std::string reason = read_conv(part_request(request, 1), stem.conv); !reason.empty())
    return reason;
  if (std::string reason = read_image(part_request(request, 0), stem); !reason.empty())
    return reason;
  if (std::string reason = reject_conv(stem); !reason.empty()) return reason;
  stem.conv.t_fits = stem.conv.sums_fit();
  stem.conv.y = request.outputs[0].shape;
  return chain_body(request.node).nodes.size() > 2 ? read_pool(part_request(request, 2), stem) : "";
}

stem::Image image_of(const Stem& stem, const BindArgs& bind) {
  const std::vector<s64> x = strides_of(stem.image, bind.inputs[0]);
  const s64 pair = common_power(
      2, {x[0], x[1], x[2], stem.conv.w().in, bind.input_offset(0) / s64{sizeof(f32)}});
  return {.image = x[0],
          .channel = x[1],
          .row = x[2],
          .height = field_of(stem.conv.h().in),
          .width = field_of(stem.conv.w().in),
          .channels = field_of(stem.conv.cin()),
          .pairs = pair == 2,
          .top = field_of(stem.before(stem.conv.h())),
          .left = field_of(stem.before(stem.conv.w()))};
}

stem::Codes codes_of(const Stem& stem) {
  const bool is_signed = stem.conv.product.x_s8;
  const s32 zero_point = stem.conv.product.epilogue.zero_point(kProductX);
  const CodeRange range = code_range(is_signed ? Dtype::s8 : Dtype::u8);
  const f32 reciprocal = reciprocal_of(stem.scale);
  return {.is_signed = is_signed,
          .zero_point = zero_point,
          .scale = bits_of(stem.scale),
          .fast = reciprocal != 0,
          .reciprocal = bits_of(reciprocal),
          .least = bits_of(static_cast<f32>(range.lo - zero_point) * stem.scale),
          .most = bits_of(static_cast<f32>(range.hi - zero_point) * stem.scale)};
}

// Without tile and places of values.
Spec spec_of(const Stem& stem) {
  const ConvRequest& conv = stem.conv;
  const s64 taps_h = stem.taps(conv.h()), taps_w = stem.taps(conv.w());
  const s32 wide = taps_h <= 2 && taps_w <= 2 ? 2 : 4;
  EpilogueSpec end = epilogue_spec(conv.product);
  end.t_fits = conv.t_fits;
  stem::Image x{};
  x.channels = field_of(conv.cin());
  return {.x = x,
          .codes = codes_of(stem),
          .wide = wide,
          .groups = field_of(ceil_div(taps_h, s64{4} / wide)),
          .out_h = field_of(conv.h().out),
          .out_w = field_of(conv.w().out),
          .cout = field_of(conv.cout()),
          .bn = conv.cout() <= 16   ? 16
                : conv.cout() <= 32 ? 32
                                    : 64,
          .height = field_of(conv.y[2]),
          .width = field_of(conv.y[3]),
          .y = {},
          .y_access = 1,
          .end = end,
          .pool = stem.pool.has_value(),
          .pool_top = stem.pool ? field_of(stem.pool->h().pad_begin) : 0,
          .pool_left = stem.pool ? field_of(stem.pool->w().pad_begin) : 0,
          .tile = {}};
}

// A lane's word of k: a channel of a group of cells; no group: nothing.
struct StemWord {
  s64 group = -1, channel = 0;
};
StemWord word_of(const Spec& spec, s64 block, s64 half) {
  const s64 channels = spec.x.channels, pairs = channels / 2;
  const s64 single = block - paired_blocks(spec), groups = spec.groups;
  if (single < 0) return {block / pairs, block % pairs * 2 + half};
  if (half == 0) return {single % groups, channels - 1};
  return single < groups ? StemWord{(single + 1) % groups, channels - 1} : StemWord{};
}

// Where a lane's pixel lies in a window.
struct StemPlace {
  s64 q = 0, pixel = 0;
};

// Of an output channel, for a pixel of the word in the cell of lane q.
s8 weight_of(const Stem& stem, const Spec& spec, s64 channel, const StemWord& word,
             const StemPlace& place) {
  const ConvRequest& conv = stem.conv;
  const s64 cell_h = word.group * high(spec) + place.q / spec.wide, cell_w = place.q % spec.wide;
  const s64 r = cell_h * kStride + place.pixel / 2 - stem.phase(conv.h());
  const s64 s = cell_w * kStride + place.pixel % 2 - stem.phase(conv.w());
  const bool inside = r >= 0 && r < conv.h().kernel && s >= 0 && s < conv.w().kernel;
  if (channel >= conv.cout() || word.group < 0 || !inside) return 0;
  return conv.weight(channel, (r * conv.w().kernel + s) * conv.cin() + word.channel);
}

// stem::Params::weights.
std::vector<std::byte> packed_stem(const Stem& stem, const Spec& spec) {
  const s32 all = weight_blocks(spec) * spec.bn * stem::kKBytes;
  std::vector<std::byte> bytes(static_cast<size_t>(all));
  for (s32 i = 0; i < all; ++i) {
    const s32 at = i % stem::kKBytes, row = i / stem::kKBytes % spec.bn;
    const s32 channel = channel_of_row(row, spec);
    const StemWord word = word_of(spec, i / stem::kKBytes / spec.bn, at / 16);
    const s32 swizzled = i ^ (row / 4 % 2 * 16);
    bytes[static_cast<size_t>(swizzled)] = static_cast<std::byte>(
        weight_of(stem, spec, channel, word, {.q = at % 16 / 4, .pixel = at % 4}));
  }
  return bytes;
}

Launch stem_launch(const Stem& stem, Spec spec, const BindArgs& bind) {
  spec.x = image_of(stem, bind);
  spec.y = stem.conv.output_strides(bind.outputs[0]);
  spec.y_access = field_of(output_access(stem.conv, bind, own_channels(spec)));
  return {.source = source_of("stem", spec),
          .shape = {.blocks = blocks(spec, stem.conv.geometry.batch),
                    .threads = stem::kThreads,
                    .shared_bytes = memory(spec).all,
                    .programmatic_dependent = true}};
}

// In cycles of a multiprocessor: instructions bound it where memory does not, and where few blocks share one, what a row waits for.
f64 stem_cost(const Stem& stem, const Spec& spec, const Chip& chip) {
  const Costs& costs = chip.costs();
  constexpr s64 kBegin = 4;  // rows in whose time a block begins
  const stem::Tile& tile = spec.tile;
  const s64 count = blocks(spec, stem.conv.geometry.batch);
  const s64 rows =
      (stem.pool ? 2 * s64{tile.rows} + 1 : tile.rows) + stem.taps(stem.conv.h()) + kBegin;
  const s64 waves = ceil_div(count, chip.multiprocessors * s64{tile.blocks});
  const s64 at_once = std::min<s64>(tile.blocks, ceil_div(count, s64{chip.multiprocessors}));
  const f64 row = (costs.stem_row + costs.stem_sum * (spec.bn / 2)) * static_cast<f64>(at_once);
  const f64 busy = static_cast<f64>(waves * rows) * std::max(row, costs.stem_row_alone);
  const f64 bytes = static_cast<f64>(stem.image.elements()) * sizeof(f32) +
                    static_cast<f64>(stem.conv.y.elements());
  const f64 start = bytes_cost(0, chip), moving = bytes_cost(bytes, chip) - start;
  return start + std::max(busy, moving) + costs.kernel_apart * std::min(busy, moving);
}

void divide(const Stem& stem, const Chip& chip, Spec& spec) {
  stem::Tile& tile = spec.tile;
  const s32 most = stem.pool ? 28 : 64 - spec.wide + 1;
  tile.column_tiles = ceil_div_s32(spec.width, most);
  tile.columns = ceil_div_s32(spec.width, tile.column_tiles);
  stem::Tile best = tile;
  f64 least = std::numeric_limits<f64>::infinity();
  for (tile.rows = spec.height; tile.rows >= 1; --tile.rows) {
    tile.row_tiles = ceil_div_s32(spec.height, tile.rows);
    if (const f64 cost = stem_cost(stem, spec, chip); cost < least) least = cost, best = tile;
  }
  tile = best;
}

// The first was the fastest on an H200, or nearly.
std::vector<Spec> stem_specs(const Stem& stem, const Chip& chip) {
  constexpr s32 kMostBlocksOfWide = 4;  // six leave too few registers for the sums of 64 columns
  std::vector<Spec> all;
  Spec spec = spec_of(stem);
  for (const s32 ahead : {4, 8}) {
    for (const s32 blocks : {4, 3, 6}) {
      if (spec.bn > 32 && blocks > kMostBlocksOfWide) continue;
      spec.tile = {.columns = 1,
                   .rows = 1,
                   .column_tiles = 1,
                   .row_tiles = 1,
                   .blocks = blocks,
                   .ahead = ahead};
      divide(stem, chip, spec);
      all.push_back(spec);
    }
  }
  return all;
}

Candidate stem_candidate(const LowerRequest& request, const Stem& stem, const Spec& spec) {
  const CudaDevice& device = device_of(request);
  const std::string kernel =
      fmt::format("stem_{}{}_{}x{}_x{}_{}ahead", spec.bn, stem.pool ? "_pool" : "",
                  spec.tile.columns, spec.tile.rows, spec.tile.blocks, spec.tile.ahead);
  Candidate candidate = candidate_of(request, kernel, Layout::nhwc);
  candidate.inputs = {Layout::linear};
  candidate.strided = candidate.writes_slices = true;
  candidate.cost = stem_cost(stem, spec, device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_wgmma_s8 * device.chip().multiprocessors;
  set_step(
      candidate, device,
      {.make_launch = [stem, spec](const BindArgs& bind) { return stem_launch(stem, spec, bind); },
       .recipes =
           [stem, spec](const BindArgs&) {
             const ConvRequest& conv = stem.conv;
             return conv_blobs(conv, {fmt::format("stem {} {} {}", stem.phase(conv.h()),
                                                  stem.phase(conv.w()), spec.bn),
                                      {conv.weights},
                                      [stem, spec] { return packed_stem(stem, spec); }});
           }},
      [product = stem.conv.product](const StepData& data) {
        return stem::Params{reinterpret_cast<const f32*>(data.input(0)), data.blob<s8>(0),
                            epilogue_params(product, data, 1)};
      });
  return candidate;
}

}  // namespace

std::vector<u32> find_stem(const Graph& graph, const Uses& uses, u32 last) {
  const auto before = [&](const Node& node, std::string_view op) {
    const s32 from =
        node.inputs.empty() || node.input(0) == kNoValue ? -1 : uses.producer(node.input(0));
    return from >= 0 && graph.nodes[static_cast<size_t>(from)].op->name == op ? from : -1;
  };
  std::vector<u32> chain{last};
  if (graph.nodes[last].op->name == "MaxPool") {
    const s32 conv = before(graph.nodes[last], "QConv");
    if (conv < 0) return {};
    chain.insert(chain.begin(), static_cast<u32>(conv));
  }
  if (graph.nodes[chain[0]].op->name != "QConv") return {};
  const s32 quantize = before(graph.nodes[chain[0]], "QuantizeLinear");
  if (quantize < 0) return {};
  chain.insert(chain.begin(), static_cast<u32>(quantize));
  return chain;
}

Offer offer_stem(const LowerRequest& request) {
  Stem stem;
  if (request.inputs.size() != 1) return Reject{"the convolution has another input"};
  if (std::string reason = read_stem(request, stem); !reason.empty()) return Reject{reason};
  const bool measured = request.target.keep_others || request.target.tuning != nullptr;
  Candidates candidates;
  for (const Spec& spec : stem_specs(stem, device_of(request).chip())) {
    candidates.push_back(stem_candidate(request, stem, spec));
    // Estimates do not tell them apart: measurements do.
    candidates.back().cost = candidates.front().cost;
    if (!measured) break;
  }
  return candidates;
}

}  // namespace octet::cuda
