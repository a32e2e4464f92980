// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and RMSNormalization, where rows are of whole 16 elements: families/rows/lower.cc offers them.
#include <algorithm>

#include "backends/cuda/families/norm_pairs/spec.h"
#include "backends/cuda/lower/rows.h"
#include "core/divide.h"

namespace octet::cuda {

bool takes_pairs(const RowsRequest& rows) {
  return !rows.softmax && rows.inner == 1 && rows.channels == 0 &&
         std::ranges::any_of(norm_pairs::kPartCounts,
                             [&](s64 parts) { return takes_parts(rows, parts); });
}

bool takes_parts(const RowsRequest& rows, s64 parts) {
  constexpr s64 kMostThreads = 128;  // row_block_threads()
  if (rows.count % (norm_pairs::kStep * parts) != 0 || rows.count > norm_pairs::kMost * parts)
    return false;
  const s64 block_rows = kMostThreads / (norm_pairs::kLanes * parts);
  return norm_pairs::shared_bytes(rows.values, field_of(rows.count), field_of(block_rows)) <=
         norm_pairs::kMostShared;
}

bool pairs_are_aligned(const BindArgs& bind) {
  constexpr s64 kAccess = 16;  // bytes, of four parameters
  const auto is_aligned = [](s64 offset) { return offset % kAccess == 0; };
  return std::ranges::all_of(bind.output_offsets, is_aligned) &&
         std::ranges::all_of(bind.input_offsets, is_aligned);
}

Launch pairs_launch(const RowsRequest& rows, s64 parts, const Chip& chip) {
  const s64 lanes = norm_pairs::kLanes * parts;
  const s64 threads = row_block_threads(rows, lanes, chip);
  const norm_pairs::Spec spec{.values = rows.values,
                              .centered = rows.centered,
                              .epsilon = bits_of(rows.epsilon),
                              .bias = rows.has_bias,
                              .constant_parameters = rows.scale && (rows.bias || !rows.has_bias),
                              .rows = rows.rows,
                              .count = field_of(rows.count),
                              .parts = field_of(parts),
                              .block_rows = field_of(threads / lanes)};
  return {.source = source_of("norm_pairs", spec),
          .shape = {.blocks = blocks(spec),
                    .threads = norm_pairs::threads(spec),
                    .programmatic_dependent = true}};
}

// A fit to rows of 768: a warp alone waits for itself, several share a scheduler.
f64 pairs_cycles(const RowsRequest& rows, s64 parts, const Chip& chip) {
  const Costs& costs = chip.costs();
  constexpr s64 kWarp = 32, kSchedulers = 4;
  const f64 count = static_cast<f64>(rows.count) / norm_pairs::kLanes;
  const f64 sums = parts > 1 ? count * costs.norm_pairs_sums : 0.0;
  const f64 instructions =
      count / static_cast<f64>(parts) * costs.norm_pairs_element + sums + costs.norm_pairs_row;
  const s64 warps = ceil_div(rows.rows * norm_pairs::kLanes * parts,
                             kWarp * kSchedulers * s64{chip.multiprocessors});
  return instructions *
         std::max(costs.norm_pairs_alone, costs.norm_pairs_beside * static_cast<f64>(warps));
}

}  // namespace octet::cuda
