// SPDX-License-Identifier: Apache-2.0
// The front of a network as one kernel: QuantizeLinear of an image, QConv of few channels with stride 2, and perhaps MaxPool of 3x3 with stride 2
// behind it (kernels/stem.cu).
#include <algorithm>
#include <limits>
#include <optional>

#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"
#include "ops/shared/pool.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

constexpr s64 kStride = 2;   // of the convolution, and of the pool
constexpr s64 kKBytes = 32;  // of one product
constexpr s64 kPitch = 68;   // words of a row of cells of one channel
constexpr s64 kThreads = 128;

struct Stem {
  ConvRequest conv;  // y: of the chain
  Shape image;
  f32 scale = 1.0f;
  std::optional<Window> pool;

  s64 before(const WindowAxis& axis) const { return (axis.pad_begin + 1) / kStride * kStride; }
  // Of a window in its first cell.
  s64 phase(const WindowAxis& axis) const { return before(axis) - axis.pad_begin; }
  s64 taps(const WindowAxis& axis) const { return ceil_div(axis.kernel + phase(axis), kStride); }
  // Cells that four lanes hold: so many side by side, the others below them.
  s64 wide() const { return taps(conv.h()) <= 2 && taps(conv.w()) <= 2 ? 2 : 4; }
  s64 high() const { return 4 / wide(); }
  s64 groups() const { return ceil_div(taps(conv.h()), high()); }
  // Of weights: two channels of each group; an odd last channel of two groups, or of one alone.
  s64 paired_blocks() const { return groups() * (conv.cin() / 2); }
  s64 blocks() const { return paired_blocks() + conv.cin() % 2 * groups() * (1 + groups() % 2); }
  s64 columns() const { return conv.cout() <= 16 ? 16 : conv.cout() <= 32 ? 32 : 64; }
  s64 weight_bytes() const { return blocks() * columns() * kKBytes; }
  s64 cell_bytes() const { return 2 * high() * conv.cin() * kPitch * 4; }
};

// What a block computes, and how.
struct StemTile {
  s64 columns = 1, rows = 1;            // of the result
  s64 column_tiles = 1, row_tiles = 1;  // of an image
  s64 blocks = 4;                       // on a multiprocessor
  s64 ahead = 2;                        // rows of cells

  s64 count(const Stem& stem) const { return stem.conv.geometry.batch * column_tiles * row_tiles; }
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
  if (std::string reason = device_of(request).chip().reject_unless_hopper(); !reason.empty())
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

// A lane's word of k: a channel of a group of cells; no group: nothing.
struct StemWord {
  s64 group = -1, channel = 0;
};
StemWord word_of(const Stem& stem, s64 block, s64 half) {
  const s64 pairs = stem.conv.cin() / 2, single = block - stem.paired_blocks(),
            groups = stem.groups();
  if (single < 0) return {block / pairs, block % pairs * 2 + half};
  if (half == 0) return {single % groups, stem.conv.cin() - 1};
  return single < groups ? StemWord{(single + 1) % groups, stem.conv.cin() - 1} : StemWord{};
}

// Of an output channel, for pixel `pixel` of the word in the cell of lane q.
s8 weight_of(const Stem& stem, s64 channel, const StemWord& word, s64 q, s64 pixel) {
  const ConvRequest& conv = stem.conv;
  const s64 cell_h = word.group * stem.high() + q / stem.wide(), cell_w = q % stem.wide();
  const s64 r = cell_h * kStride + pixel / 2 - stem.phase(conv.h());
  const s64 s = cell_w * kStride + pixel % 2 - stem.phase(conv.w());
  const bool inside = r >= 0 && r < conv.h().kernel && s >= 0 && s < conv.w().kernel;
  if (channel >= conv.cout() || word.group < 0 || !inside) return 0;
  return conv.weight(channel, (r * conv.w().kernel + s) * conv.cin() + word.channel);
}

// As kernels/stem.cu has them.
std::vector<std::byte> packed_stem(const Stem& stem) {
  const s64 bn = stem.columns(), own = bn / 4;
  std::vector<std::byte> bytes(static_cast<size_t>(stem.weight_bytes()));
  for (s64 i = 0; i < stem.weight_bytes(); ++i) {
    const s64 at = i % kKBytes, row = i / kKBytes % bn;
    const s64 channel = own * (row % 8 / 2) + row / 8 * 2 + row % 2;
    const StemWord word = word_of(stem, i / kKBytes / bn, at / 16);
    const s64 swizzled = i ^ (row / 4 % 2 * 16);
    bytes[static_cast<size_t>(swizzled)] =
        static_cast<std::byte>(weight_of(stem, channel, word, at % 16 / 4, at % 4));
  }
  return bytes;
}

void set_image(KernelSource& source, const Stem& stem, const BindArgs& bind) {
  const std::vector<s64> x = strides_of(stem.image, bind.inputs[0]);
  source.set("X_IMAGE", x[0]), source.set("X_CHANNEL", x[1]), source.set("X_ROW", x[2]);
  source.set("IH", stem.conv.h().in), source.set("IW", stem.conv.w().in);
  source.set("CHANNELS", stem.conv.cin());
  const s64 pair = common_power(
      2, {x[0], x[1], x[2], stem.conv.w().in, bind.input_offset(0) / s64{sizeof(f32)}});
  source.set("PAIRS", s64{pair == 2});
  source.set("TOP", stem.before(stem.conv.h())), source.set("LEFT", stem.before(stem.conv.w()));
}

void set_codes(KernelSource& source, const Stem& stem) {
  const bool is_signed = stem.conv.product.x_s8;
  const s32 zero_point = stem.conv.product.epilogue.zero_point(kProductX);
  const CodeRange range = code_range(is_signed ? Dtype::s8 : Dtype::u8);
  const f32 reciprocal = reciprocal_of(stem.scale);
  source.set("X_S8", s64{is_signed}), source.set("ZP_X", s64{zero_point});
  source.set("SCALE", stem.scale), source.set("RECIPROCAL", reciprocal);
  source.set("FAST", s64{reciprocal != 0});
  source.set("LEAST", static_cast<f32>(range.lo - zero_point) * stem.scale);
  source.set("MOST", static_cast<f32>(range.hi - zero_point) * stem.scale);
}

void set_result(KernelSource& source, const Stem& stem, const BindArgs& bind) {
  const ConvRequest& conv = stem.conv;
  source.set("OH", conv.h().out), source.set("OW", conv.w().out);
  source.set("COUT", conv.cout());
  source.set("HEIGHT", conv.y[2]), source.set("WIDTH", conv.y[3]);
  set_strides(source, "Y", conv.output_strides(bind.outputs[0]));
  source.set("OUT_VEC", output_access(conv, bind, stem.columns() / 4));
  set_epilogue(source, conv.product);
  source.set("T_FITS", s64{conv.t_fits});
  source.set("POOL", s64{stem.pool.has_value()});
  if (!stem.pool) return;
  source.set("POOL_T", stem.pool->h().pad_begin);
  source.set("POOL_L", stem.pool->w().pad_begin);
}

Launch stem_launch(const Stem& stem, const StemTile& tile, const BindArgs& bind) {
  constexpr s64 kSwizzleAlignment = 8 * kKBytes, kTableBytes = 256;
  Launch launch{.source = {"stem", {}}, .shape = {}};
  KernelSource& source = launch.source;
  set_image(source, stem, bind);
  set_codes(source, stem);
  set_result(source, stem, bind);
  source.set("WIDE", stem.wide()), source.set("GROUPS", stem.groups());
  source.set("BN", stem.columns()), source.set("BKI", kKBytes);
  source.set("COLUMNS", tile.columns), source.set("ROWS", tile.rows);
  source.set("COLUMN_TILES", tile.column_tiles), source.set("ROW_TILES", tile.row_tiles);
  source.set("AHEAD", tile.ahead), source.set("MIN_BLOCKS", tile.blocks);
  const s64 ends = stem.weight_bytes() + stem.cell_bytes();
  const s64 pixels = ends + 8 * stem.columns() + kTableBytes;
  source.set("OFF_CELLS", stem.weight_bytes()), source.set("OFF_ENDS", ends);
  source.set("OFF_PIXELS", pixels);
  launch.shape = {
      .blocks = tile.count(stem),
      .threads = kThreads,
      .shared_bytes = pixels + tile.ahead * stem.conv.cin() * kThreads * 8 + kSwizzleAlignment,
      .programmatic_dependent = true};
  return launch;
}

// In cycles of a multiprocessor: instructions bound it where memory does not, and where few blocks share one, what a row waits for.
f64 stem_cost(const Stem& stem, const StemTile& tile, const Chip& chip) {
  constexpr f64 kRow = 200, kSum = 8, kRowAlone = 450;
  constexpr f64 kApart = 0.25;  // as of tile_cost()
  constexpr s64 kBegin = 4;     // rows in whose time a block begins
  const s64 rows = (stem.pool ? 2 * tile.rows + 1 : tile.rows) + stem.taps(stem.conv.h()) + kBegin;
  const s64 waves = ceil_div(tile.count(stem), chip.multiprocessors * tile.blocks);
  const s64 at_once = std::min(tile.blocks, ceil_div(tile.count(stem), s64{chip.multiprocessors}));
  const f64 row = (kRow + kSum * static_cast<f64>(stem.columns() / 2)) * static_cast<f64>(at_once);
  const f64 busy = static_cast<f64>(waves * rows) * std::max(row, kRowAlone);
  const f64 bytes = static_cast<f64>(stem.image.elements()) * sizeof(f32) +
                    static_cast<f64>(stem.conv.y.elements());
  const f64 start = bytes_cost(0, chip), moving = bytes_cost(bytes, chip) - start;
  return start + std::max(busy, moving) + kApart * std::min(busy, moving);
}

void divide(const Stem& stem, const Chip& chip, StemTile& tile) {
  const s64 height = stem.conv.y[2], width = stem.conv.y[3];
  const s64 most = stem.pool ? 28 : 64 - stem.wide() + 1;
  tile.column_tiles = ceil_div(width, most);
  tile.columns = ceil_div(width, tile.column_tiles);
  StemTile best = tile;
  f64 least = std::numeric_limits<f64>::infinity();
  for (tile.rows = height; tile.rows >= 1; --tile.rows) {
    tile.row_tiles = ceil_div(height, tile.rows);
    if (const f64 cost = stem_cost(stem, tile, chip); cost < least) least = cost, best = tile;
  }
  tile = best;
}

// The first was the fastest on an H200, or nearly.
std::vector<StemTile> stem_tiles(const Stem& stem, const Chip& chip) {
  constexpr s64 kMostBlocksOfWide = 4;  // six leave too few registers for the sums of 64 columns
  std::vector<StemTile> all;
  for (const s64 ahead : {4, 8}) {
    for (const s64 blocks : {4, 3, 6}) {
      if (stem.columns() > 32 && blocks > kMostBlocksOfWide) continue;
      StemTile tile{.blocks = blocks, .ahead = ahead};
      divide(stem, chip, tile);
      all.push_back(tile);
    }
  }
  return all;
}

Candidate stem_candidate(const LowerRequest& request, const Stem& stem, const StemTile& tile) {
  const CudaDevice& device = device_of(request);
  const std::string kernel =
      fmt::format("stem_{}{}_{}x{}_x{}_{}ahead", stem.columns(), stem.pool ? "_pool" : "",
                  tile.columns, tile.rows, tile.blocks, tile.ahead);
  Candidate candidate = candidate_of(request, kernel, Layout::nhwc);
  candidate.inputs = {Layout::linear};
  candidate.strided = candidate.writes_slices = true;
  candidate.cost = stem_cost(stem, tile, device.chip());
  candidate.macs_per_cycle = kWgmmaRate * device.chip().multiprocessors;
  set_step(
      candidate, device,
      {.make_launch = [stem, tile](const BindArgs& bind) { return stem_launch(stem, tile, bind); },
       .recipes =
           [stem](const BindArgs&) {
             const ConvRequest& conv = stem.conv;
             return conv_blobs(conv, {fmt::format("stem {} {} {}", stem.phase(conv.h()),
                                                  stem.phase(conv.w()), stem.columns()),
                                      {conv.weights},
                                      [stem] { return packed_stem(stem); }});
           }},
      [product = stem.conv.product](const StepData& data) {
        return params::ConvParams{data.input(0), data.blob<s8>(0),
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
  for (const StemTile& tile : stem_tiles(stem, device_of(request).chip())) {
    candidates.push_back(stem_candidate(request, stem, tile));
    // Estimates do not tell them apart: measurements do.
    candidates.back().cost = candidates.front().cost;
    if (!measured) break;
  }
  return candidates;
}

}  // namespace octet::cuda
