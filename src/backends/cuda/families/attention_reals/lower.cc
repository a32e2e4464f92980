// SPDX-License-Identifier: Apache-2.0
// Attention of reals as a chain: its tiles, their costs, its launch.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "backends/cuda/families/attention_reals/attention_reals.h"
#include "backends/cuda/families/attention_reals/spec.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/product.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

using attention_reals::BatchAxes;
using attention_reals::Spec;
using attention_reals::Tile;

// The last axis first.
BatchAxes batches_of(const RealHeads& heads) {
  BatchAxes axes{};
  const Shape& batch = heads.by_keys.geometry.batch;
  for (int d = batch.rank(); d-- > 0;) {
    const auto i = static_cast<size_t>(d);
    append(axes, {.size = batch[d],
                  .queries = heads.by_keys.a_batch[i],
                  .keys = heads.by_keys.b_batch[i],
                  .values = heads.by_values.b_batch[i],
                  .mask = heads.mask.exists ? heads.mask.batch[i] : 0,
                  .y = heads.by_values.y_batch[i]});
  }
  return axes;
}

attention_reals::Operand operand_of(const RealHeads& heads, size_t i, s64 row) {
  return {.type = heads.types[i], .zero_point = heads.codes[i].zero_point, .row = row, .access = 1};
}

// In units of log2; a number stays one.
F32Bits hidden_of(const RealHeads& heads) {
  const f64 scaled = f64{heads.hidden} * heads.mask_scale * std::numbers::log2e;
  constexpr f64 kMost = std::numeric_limits<f32>::max();
  return bits_of(std::isfinite(heads.hidden) ? static_cast<f32>(std::clamp(scaled, -kMost, kMost))
                                             : heads.hidden);
}

// Without places of values and a tile.
Spec spec_of(const RealHeads& heads) {
  const CodeRange range = code_range(heads.y == Number::s8 ? Dtype::s8 : Dtype::u8);
  const auto to_log2 = [](f64 scale) {
    return bits_of(static_cast<f32>(scale * std::numbers::log2e));
  };
  return {.queries = field_of(heads.query_count()),
          .keys = field_of(heads.key_count()),
          .head = field_of(heads.head()),
          .f16 = heads.type == Number::f16,
          .q = operand_of(heads, 0, heads.by_keys.a_row),
          .k = operand_of(heads, 1, heads.by_keys.b_n),
          .v = operand_of(heads, 2, heads.by_values.b_k),
          .batches = batches_of(heads),
          .scale = to_log2(heads.scale),
          .value_scale = bits_of(heads.codes[2].scale),
          .mask = {.exists = heads.mask.exists,
                   .type = heads.mask_type,
                   .scale = to_log2(heads.mask_scale),
                   .hidden = hidden_of(heads),
                   .hides = heads.hides,
                   .row = heads.mask.row,
                   .key = heads.mask.key},
          .guarded = heads.guarded,
          .y = heads.y,
          .rounded = heads.rounded,
          .codes = {.scale = bits_of(heads.y_codes.scale),
                    .reciprocal = bits_of(reciprocal_of(heads.y_codes.scale)),
                    .zero_point = heads.y_codes.zero_point,
                    .lo = range.lo,
                    .hi = range.hi},
          .y_row = heads.by_values.y_row,
          .y_access = 2,
          .tile = {}};
}

// Of a thread, as compilers give them.
s64 registers_of(const Spec& spec) {
  constexpr s64 kOthers = 48, kMost = 255;
  const s64 sums = 4 * spec.tile.tiles_m * (spec.tile.keys / 8 + 2 * depths(spec));
  const s64 queries = holds_queries(spec) ? 4 * spec.tile.tiles_m * depths(spec) : 0;
  return std::min(sums + queries + kOthers, kMost);
}

// In cycles. A warp has a quarter of a multiprocessor's units, and products of a block wait for its Softmax unless other warps have some meanwhile. Factors by a
// few layers of an H200 (64 and 128 queries of a tile, 12 and 384 heads of 64, 384 keys).
f64 cost_of(const Spec& spec, f64 bytes, const Chip& chip) {
  const Costs& costs = chip.costs();
  constexpr f64 kPowersOfCycle = 16, kAlone = 5, kPowersApart = 0.5, kLoadsApart = 4.0 / 3;
  constexpr f64 kWarps = 4;
  const f64 rows = attention_reals::rows(spec), head = 16 * depths(spec);
  const f64 keys = static_cast<f64>(key_tiles(spec)) * stage_keys(spec);
  const f64 products = 2 * rows * keys * head / costs.rate_mma_f16;
  const f64 powers = rows * keys / kPowersOfCycle;
  const f64 loads = 4 * keys * head / costs.tile_cache_rate;
  const s64 own = ceil_div(attention_reals::blocks(spec), s64{chip.multiprocessors});
  const s64 at_once =
      std::max<s64>(1, chip.blocks_at_once(threads(spec), registers_of(spec), shared_bytes(spec)));
  const f64 share = spec.tile.warps * spec.tile.split / kWarps, many = static_cast<f64>(own);
  const f64 busy = costs.tile_begin * static_cast<f64>(ceil_div(own, at_once)) +
                   std::max(products / std::min(1.0, share), many * products) +
                   std::max(1.0, kAlone / share) * powers +
                   many * (kPowersApart * powers + kLoadsApart * loads);
  const f64 moving = bytes_cost(bytes, chip) - costs.kernel_start;
  return costs.kernel_start + std::max(busy, moving) + costs.kernel_apart * std::min(busy, moving);
}

bool has_codes(const RealHeads& heads) {
  return std::ranges::any_of(heads.types, [](Number type) { return is_code(type); });
}

s32 keys_of_tile(const Spec& spec) {
  constexpr s32 kMost = 64, kWide = 128;
  const bool few = spec.head > kWide || (spec.tile.tiles_m > 1 && spec.head > kMost);
  s32 keys = few || spec.tile.split > 2 ? kMost / 2 : kMost;
  while (keys > 16 && keys / 2 * spec.tile.split >= spec.keys) keys /= 2;
  return keys;
}

// Tiles that shared memory holds and that are no more than twice too large, the cheapest first.
std::vector<Spec> specs_of(const RealHeads& heads, f64 bytes, const Chip& chip) {
  constexpr s32 kWide = 128;
  struct Shape {
    s32 warps, tiles_m, split;
  };
  std::vector<Spec> all;
  for (const Shape shape : {Shape{4, 2, 1},
                            {4, 1, 1},
                            {2, 1, 1},
                            {1, 1, 1},
                            {4, 1, 2},
                            {2, 1, 2},
                            {1, 1, 2},
                            {2, 1, 4},
                            {1, 1, 4}}) {
    Spec spec = spec_of(heads);
    if (shape.tiles_m > 1 && (spec.head > kWide || has_codes(heads))) continue;
    spec.tile = {.warps = shape.warps,
                 .tiles_m = shape.tiles_m,
                 .split = shape.split,
                 .keys = 0,
                 .stages = 2};
    spec.tile.keys = keys_of_tile(spec);
    const bool empty = attention_reals::rows(spec) / 2 >= spec.queries && shape.warps > 1;
    const bool idle = spec.tile.keys * (shape.split - 1) >= spec.keys;
    if (!empty && !idle && shared_bytes(spec) <= chip.shared_bytes_per_block) all.push_back(spec);
  }
  std::ranges::stable_sort(all, {}, [&](const Spec& spec) { return cost_of(spec, bytes, chip); });
  return all;
}

// Bytes of one, of elements of `bytes`; two codes are loaded one by one.
s32 access_of(s64 bytes, s64 offset, const std::vector<s64>& strides) {
  constexpr s64 kWidest = 16, kWord = 4;
  s64 width = common_power(kWidest, {offset});
  for (const s64 stride : strides) width = common_power(width, {bytes * stride});
  return field_of(bytes == 1 && width < kWord ? 1 : std::max(width, bytes));
}
std::vector<s64> with(std::vector<s64> strides, s64 row, s64 head) {
  strides.push_back(row), strides.push_back(head);
  return strides;
}

Launch launch_of(const RealHeads& heads, Spec spec, const BindArgs& bind) {
  const MatMulViews &k = heads.by_keys, &v = heads.by_values;
  const s64 head = heads.head();
  const auto access = [&](size_t i, const std::vector<s64>& strides) {
    const s64 bytes = bytes_of(heads.types[i]);
    return access_of(bytes, bind.input_offset(heads.inputs[i]) + bytes * heads.at[i], strides);
  };
  spec.q.access = access(0, with(k.a_batch, k.a_row, head));
  spec.k.access = access(1, with(k.b_batch, k.b_n, head));
  spec.v.access = access(2, with(v.b_batch, v.b_k, head));
  spec.y_access =
      access_of(bytes_of(heads.y), bind.output_offset(0), with(v.y_batch, v.y_row, head));
  return {.source = source_of("attention_reals", spec),
          .shape = {.blocks = blocks(spec),
                    .threads = threads(spec),
                    .shared_bytes = shared_bytes(spec),
                    .programmatic_dependent = true}};
}

attention_reals::Params params_of(const RealHeads& heads, const StepData& data) {
  const auto operand = [&](size_t i) {
    return data.input(heads.inputs[i]) + heads.at[i] * bytes_of(heads.types[i]);
  };
  const void* mask = nullptr;
  if (heads.mask.exists)
    mask = heads.mask.constant ? data.blob<u8>(0) : data.input(heads.mask.input);
  return {operand(0), operand(1), operand(2), mask, data.output()};
}

Candidate candidate_for(const LowerRequest& chain, const RealHeads& heads, const Spec& spec) {
  const CudaDevice& device = device_of(chain);
  const char* type = spec.f16 ? "f16" : "bf16";
  std::string name =
      fmt::format("attention_{}_{}x{}", type, attention_reals::rows(spec), stage_keys(spec));
  if (spec.tile.split > 1) name += fmt::format("_x{}", spec.tile.split);
  Candidate candidate = candidate_of(chain, name, Layout::linear);
  candidate.cost = cost_of(spec, moved_bytes(chain), device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_mma_f16 * device.chip().multiprocessors;
  candidate.close = true;
  const auto recipes = [mask = heads.mask](const BindArgs&) {
    return mask.constant ? std::vector{constant_blob(mask.constant)} : std::vector<BlobRecipe>{};
  };
  set_step(
      candidate, device,
      {.make_launch = [heads, spec](const BindArgs& bind) { return launch_of(heads, spec, bind); },
       .recipes = recipes},
      [heads](const StepData& data) { return params_of(heads, data); });
  return candidate;
}

}  // namespace

Offer offer_attention_reals(const LowerRequest& chain) {
  RealHeads heads;
  if (std::string reason = read_real_heads(chain, heads); !reason.empty()) return Reject{reason};
  const Chip& chip = device_of(chain).chip();
  Candidates candidates;
  for (const Spec& spec : specs_of(heads, moved_bytes(chain), chip)) {
    if (std::string reason = chip.reject_without_mma(spec.f16); !reason.empty())
      return Reject{reason};
    candidates.push_back(candidate_for(chain, heads, spec));
  }
  if (candidates.empty()) return Reject{"no tile fits the chip"};
  return candidates;
}

}  // namespace octet::cuda
