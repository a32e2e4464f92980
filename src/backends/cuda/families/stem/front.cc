// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/stem/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "core/divide.h"

namespace octet::cuda {

using stem::Spec;

s64 StemFront::taps(const WindowAxis& axis) const {
  return ceil_div(axis.kernel + phase(axis), kStride);
}

std::string reject_stem(const StemFront& front) {
  constexpr s64 kMostChannels = 4, kMostOutputs = 64, kMostTaps = 4;
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  const ConvGeometry& conv = front.geometry;
  if (conv.groups != 1) return "the convolution has groups";
  if (conv.in_channels > kMostChannels) return "the image has more than 4 channels";
  if (conv.out_channels > kMostOutputs) return "there are more than 64 channels";
  for (const WindowAxis& axis : {front.h(), front.w()}) {
    if (axis.stride != StemFront::kStride || axis.dilation != 1) return "the stride is not 2";
    if (front.taps(axis) > kMostTaps) return "the window is large";
    if (axis.pad_begin >= axis.kernel) return "the padding is larger than the window";
  }
  return front.image.elements() / conv.batch > kMost ? "the image is large" : "";
}

std::string read_stem_pool(const LowerRequest& request, StemFront& front) {
  if (request.outputs.size() > 1) return "the positions of the maxima are wanted";
  front.pool = pool_geometry(request.node, request.inputs[0].shape).window;
  for (const WindowAxis& axis : {front.pool->h(), front.pool->w()}) {
    if (axis.kernel != 3 || axis.stride != StemFront::kStride || axis.dilation != 1)
      return "the pool is not of 3x3 with stride 2";
    if (axis.pad_begin > 1 || (axis.out - 1) * axis.stride - axis.pad_begin >= axis.in)
      return "the pool has another padding";
  }
  return {};
}

stem::Image stem_image(const StemFront& front, const BindArgs& bind) {
  const std::vector<s64> x = strides_of(front.image, bind.inputs[0]);
  const s64 pair =
      common_power(2, {x[0], x[1], x[2], front.w().in, bind.input_offset(0) / s64{sizeof(f32)}});
  return {.image = x[0],
          .channel = x[1],
          .row = x[2],
          .height = field_of(front.h().in),
          .width = field_of(front.w().in),
          .channels = field_of(front.geometry.in_channels),
          .pairs = pair == 2,
          .top = field_of(front.before(front.h())),
          .left = field_of(front.before(front.w()))};
}

Spec stem_spec(const StemFront& front) {
  const s64 taps_h = front.taps(front.h()), taps_w = front.taps(front.w()),
            cout = front.geometry.out_channels;
  const s32 wide = taps_h <= 2 && taps_w <= 2 ? 2 : 4;
  Spec spec{};
  spec.x.channels = field_of(front.geometry.in_channels);
  spec.wide = wide;
  spec.groups = field_of(ceil_div(taps_h, s64{4} / wide));
  spec.out_h = field_of(front.h().out);
  spec.out_w = field_of(front.w().out);
  spec.cout = field_of(cout);
  spec.bn = cout <= 16 ? 16 : cout <= 32 ? 32 : 64;
  spec.height = field_of(front.y[2]);
  spec.width = field_of(front.y[3]);
  spec.y_access = 1;
  spec.pool = front.pool.has_value();
  spec.pool_top = front.pool ? field_of(front.pool->h().pad_begin) : 0;
  spec.pool_left = front.pool ? field_of(front.pool->w().pad_begin) : 0;
  return spec;
}

s64 stem_tap(const StemFront& front, const Spec& spec, s64 group, s64 q, s64 pixel) {
  const s64 cell_h = group * high(spec) + q / spec.wide, cell_w = q % spec.wide;
  const s64 r = cell_h * StemFront::kStride + pixel / 2 - front.phase(front.h());
  const s64 s = cell_w * StemFront::kStride + pixel % 2 - front.phase(front.w());
  const bool inside = r >= 0 && r < front.h().kernel && s >= 0 && s < front.w().kernel;
  return inside ? r * front.w().kernel + s : -1;
}

s64 swizzled_stem_byte(s64 byte) {
  const s64 row = byte / stem::kKBytes;
  return byte ^ (row / 4 % 2 * 16);
}

namespace {

s32 products_of_terms(const Spec& spec) {
  const s32 all = x_terms(spec) * spec.w_terms;
  return all == 9 ? 6 : all;  // the smallest are left out
}

// In cycles of a multiprocessor: instructions bound it where memory does not, and where few blocks share one, what a row waits for.
f64 stem_cost(const StemFront& front, const Spec& spec, const Chip& chip) {
  const Costs& costs = chip.costs();
  constexpr s64 kBegin = 4;  // rows in whose time a block begins
  const stem::Tile& tile = spec.tile;
  const s64 count = blocks(spec, front.geometry.batch);
  const s64 rows =
      (front.pool ? 2 * s64{tile.rows} + 1 : tile.rows) + front.taps(front.h()) + kBegin;
  const s64 waves = ceil_div(count, chip.multiprocessors * s64{tile.blocks});
  const s64 at_once = std::min<s64>(tile.blocks, ceil_div(count, s64{chip.multiprocessors}));
  // What wgmma does beside the rest, the warps' own instructions add.
  const f64 all = 64.0 * spec.bn * stem::kKBytes * weight_blocks(spec);
  const f64 own = chip.has(Instruction::wgmma) ? 0 : all / costs.rate_mma_s8;
  f64 row = (costs.stem_row + costs.stem_sum * (spec.bn / 2) + own) * static_cast<f64>(at_once);
  if (!is_code(spec.number)) row *= costs.stem_reals;
  if (spec.number == Number::f32) {
    const f64 k_bytes =
        f64{stem::kKBytes} * spec.groups * spec.x.channels * products_of_terms(spec);
    const f64 products = 64.0 * spec.bn * k_bytes / costs.rate_wgmma_s8;
    row = std::max(row * costs.stem_terms, products * static_cast<f64>(at_once));
  }
  const f64 busy = static_cast<f64>(waves * rows) * std::max(row, costs.stem_row_alone + own);
  const f64 bytes =
      static_cast<f64>(front.image.elements()) * sizeof(f32) +
      static_cast<f64>(front.y.elements()) * (is_code(spec.number) ? 1 : bytes_of(spec.real_end.y));
  const f64 start = bytes_cost(0, chip), moving = bytes_cost(bytes, chip) - start;
  return start + std::max(busy, moving) + costs.kernel_apart * std::min(busy, moving);
}

void divide(const StemFront& front, const Chip& chip, Spec& spec) {
  stem::Tile& tile = spec.tile;
  const s32 most = front.pool ? 28 : 64 - spec.wide + 1;
  tile.column_tiles = ceil_div_s32(spec.width, most);
  tile.columns = ceil_div_s32(spec.width, tile.column_tiles);
  stem::Tile best = tile;
  f64 least = std::numeric_limits<f64>::infinity();
  for (tile.rows = spec.height; tile.rows >= 1; --tile.rows) {
    tile.row_tiles = ceil_div_s32(spec.height, tile.rows);
    if (const f64 cost = stem_cost(front, spec, chip); cost < least) least = cost, best = tile;
  }
  tile = best;
}

// Six blocks leave too few registers for the sums of 64 columns, and four for cells of reals beside them.
s32 most_blocks(const Spec& spec) {
  if (spec.bn <= 32) return 6;
  return is_code(spec.number) ? 4 : 3;  // of terms, memory allows two
}

}  // namespace

std::vector<Spec> stem_specs(const StemFront& front, Spec spec, const Chip& chip) {
  std::vector<Spec> all;
  for (const s32 ahead : {4, 8}) {
    for (const s32 blocks : {4, 3, 6, 2}) {
      if (blocks > most_blocks(spec) || (blocks == 2 && spec.number != Number::f32)) continue;
      spec.tile = {.columns = 1,
                   .rows = 1,
                   .column_tiles = 1,
                   .row_tiles = 1,
                   .blocks = blocks,
                   .ahead = ahead};
      divide(front, chip, spec);
      const bool fits =
          spec.number != Number::f32 ||
          blocks * (memory(spec).all + chip.reserved_shared_bytes) <= chip.shared_bytes;
      if (fits && memory(spec).all <= chip.shared_bytes_per_block) all.push_back(spec);
    }
  }
  return all;
}

namespace {
std::string name_of(const Spec& spec) {
  if (spec.number == Number::f32) return fmt::format("terms{}_", products_of_terms(spec));
  return spec.number == Number::f16 ? "f16_" : spec.number == Number::bf16 ? "bf16_" : "";
}
}  // namespace

Candidate stem_candidate(const LowerRequest& request, const StemFront& front, const Spec& spec) {
  const CudaDevice& device = device_of(request);
  const std::string kernel =
      fmt::format("stem_{}{}{}_{}x{}_x{}_{}ahead", name_of(spec), spec.bn, spec.pool ? "_pool" : "",
                  spec.tile.columns, spec.tile.rows, spec.tile.blocks, spec.tile.ahead);
  Candidate candidate = candidate_of(request, kernel, Layout::nhwc);
  candidate.inputs[0] = Layout::linear;
  candidate.strided = candidate.writes_slices = true;
  candidate.cost = stem_cost(front, spec, device.chip());
  candidate.macs_per_cycle = device.chip().warpgroup_rate() /
                             (is_code(spec.number) ? 1 : 2 * products_of_terms(spec)) *
                             device.chip().multiprocessors;
  return candidate;
}

Spec placed_stem(const StemFront& front, Spec spec, const BindArgs& bind, const PixelStrides& y) {
  spec.x = stem_image(front, bind);
  spec.y = y;
  return spec;
}

Launch stem_launch(const StemFront& front, const Spec& spec) {
  return {.source = source_of("stem", spec),
          .shape = {.blocks = blocks(spec, front.geometry.batch),
                    .threads = stem::kThreads,
                    .shared_bytes = memory(spec).all,
                    .programmatic_dependent = true}};
}

}  // namespace octet::cuda
