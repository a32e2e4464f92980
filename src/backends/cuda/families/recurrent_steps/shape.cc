// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/recurrent_steps/shape.h"

#include <algorithm>
#include <optional>

#include "backends/cuda/families/recurrent_steps/spec.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kRows = 4;  // of a tile
constexpr s64 kMostThreads = 512;
constexpr s64 kMostLaunches = 8192;

s64 chunks_of(const RecurrentSizes& sizes) { return recurrent_steps::chunks_of(sizes.hidden); }

// What a block keeps beside weights.
s64 state_bytes(const RecurrentSizes& sizes, const RecurrentShape& shape) {
  return recurrent_steps::state_floats(shape.sequences, chunks_of(sizes), sizes.gates_first,
                                       sizes.gates * shape.units) *
         s64{sizeof(f32)};
}

// The products of one step in one block, whose threads all multiply.
f64 product_cycles(const RecurrentSizes& sizes, const RecurrentShape& shape, const Costs& costs) {
  constexpr f64 kQuarters = 4 * 16;  // bytes of a row's chunk
  const f64 each = static_cast<f64>(shape.each), chunks = static_cast<f64>(chunks_of(sizes));
  const f64 shared = static_cast<f64>(shape.shared_chunks);
  const f64 kept = static_cast<f64>(shape.kept_chunks);
  const f64 vector_bytes = each * kQuarters, weight_bytes = kRows * kQuarters;
  const f64 from_shared = std::max(each, (vector_bytes + weight_bytes) / costs.rate_cache);
  const f64 from_registers = std::max(each, vector_bytes / costs.rate_cache);
  const f64 from_cache =
      std::max(each, vector_bytes / costs.rate_cache + weight_bytes / costs.recurrent_cache_rate);
  const s64 tiles = ceil_div(sizes.gates * shape.units, kRows) * (shape.sequences / shape.each);
  const f64 rounds = static_cast<f64>(ceil_div(4 * tiles, shape.threads));
  const f64 all = static_cast<f64>(tiles) * (shared * from_shared + kept * from_registers +
                                             (chunks - shared - kept) * from_cache);
  return std::max(all, rounds * chunks * costs.recurrent_chunk);
}

f64 cycles_of(const RecurrentSizes& sizes, const RecurrentShape& shape, const Chip& chip) {
  const Costs& costs = chip.costs();
  const s64 at_once = std::max<s64>(
      1, std::min(chip.shared_bytes / (shape.shared_bytes + chip.reserved_shared_bytes),
                  chip.threads / shape.threads));
  const f64 waves = static_cast<f64>(ceil_div(shape.blocks, at_once * chip.multiprocessors));
  const f64 step =
      product_cycles(sizes, shape, costs) + costs.recurrent_step * (sizes.gates_first ? 2 : 1);
  const f64 load = static_cast<f64>(shape.shared_bytes) / costs.recurrent_cache_rate;
  const f64 steps = static_cast<f64>(sizes.steps);
  if (shape.unit_blocks == 1) return waves * (load + steps * step);
  // Weights are loaded while the step before is taken, where there is room for both.
  return steps * (costs.recurrent_launch + waves * step + (at_once > 1 ? 0.0 : load));
}

// Pieces of four rows that a thread has registers for, where it has but one tile for the whole walk.
s64 most_kept(const RecurrentSizes& sizes, const RecurrentShape& shape, s64 tiles) {
  if (shape.unit_blocks > 1 || sizes.gates_first || 4 * tiles > shape.threads) return 0;
  return shape.each == 1 ? 3 : shape.each == 2 ? 2 : 0;
}

// Null where it does not fit.
std::optional<RecurrentShape> finished(const RecurrentSizes& sizes, RecurrentShape shape,
                                       const Chip& chip) {
  const s64 rows = sizes.gates * shape.units, chunk_bytes = rows * kLanes * s64{sizeof(f32)};
  const s64 tiles = ceil_div(rows, kRows) * (shape.sequences / shape.each);
  constexpr s64 kWarp = 32;
  shape.threads = std::min(ceil_div(4 * tiles, kWarp) * kWarp, kMostThreads);
  const s64 items = ceil_div(shape.sequences * shape.units, shape.threads);
  if (items > 4 / shape.each && shape.each > 1) return {};  // registers
  const s64 left = chip.shared_bytes_per_block - state_bytes(sizes, shape);
  if (left < 0) return {};
  shape.shared_chunks = std::min(left / chunk_bytes, chunks_of(sizes));
  shape.kept_chunks =
      std::min(chunks_of(sizes) - shape.shared_chunks, most_kept(sizes, shape, tiles));
  shape.shared_bytes = shape.shared_chunks * chunk_bytes + state_bytes(sizes, shape);
  shape.blocks = shape.unit_blocks * sizes.directions * ceil_div(sizes.batch, shape.sequences);
  shape.cycles = cycles_of(sizes, shape, chip);
  return shape;
}

// So many sequences of a block, in both ways of sharing; nothing where the way is none.
std::optional<RecurrentShape> whole_walk(const RecurrentSizes& sizes, s64 sequences, s64 most_steps,
                                         const Chip& chip) {
  RecurrentShape shape{.units = sizes.hidden, .sequences = sequences};
  shape.each = std::min<s64>(sequences, 4);
  shape.steps = std::min(sizes.steps, most_steps);
  return finished(sizes, shape, chip);
}

std::optional<RecurrentShape> single_steps(const RecurrentSizes& sizes, s64 sequences,
                                           const Chip& chip) {
  constexpr s64 kLeastUnits = 4;
  if (sizes.gates_first || sizes.steps > kMostLaunches) return {};
  RecurrentShape shape{.sequences = sequences};
  shape.each = std::min<s64>(sequences, 4);
  const s64 groups = sizes.directions * ceil_div(sizes.batch, sequences);
  const s64 wanted = std::max<s64>(1, chip.multiprocessors / groups);
  shape.units = std::max(ceil_div(sizes.hidden, wanted), kLeastUnits);
  shape.unit_blocks = ceil_div(sizes.hidden, shape.units);
  if (shape.unit_blocks == 1) return {};
  return finished(sizes, shape, chip);
}

}  // namespace

std::vector<RecurrentShape> recurrent_shapes(const RecurrentSizes& sizes, s64 most_steps,
                                             const Chip& chip) {
  std::optional<RecurrentShape> whole, single;
  const auto keep_better = [](std::optional<RecurrentShape>& best,
                              const std::optional<RecurrentShape>& other) {
    if (other && (!best || other->cycles < best->cycles)) best = other;
  };
  constexpr s64 kMostSequences = 32;
  for (s64 sequences = 1; sequences <= kMostSequences; sequences *= 2) {
    if (sequences > 1 && sequences / 2 >= sizes.batch) break;
    keep_better(whole, whole_walk(sizes, sequences, most_steps, chip));
    keep_better(single, single_steps(sizes, sequences, chip));
  }
  std::vector<RecurrentShape> all;
  if (whole) all.push_back(*whole);
  if (single) all.push_back(*single);
  std::ranges::stable_sort(all, {}, &RecurrentShape::cycles);
  return all;
}

}  // namespace octet::cuda
