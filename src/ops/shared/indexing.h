// SPDX-License-Identifier: Apache-2.0
// Indices that come from data: what Gather, Scatter and their relatives check before they touch memory.
#pragma once

#include <string>
#include <vector>

#include "core/types.h"
#include "graph/op_def.h"
#include "ops/attributes/moves.h"

namespace octet {

// `index` in [-dim, dim) made non-negative; throws Error(invalid_argument) with the index, the axis and its size.
s64 checked_index(s64 index, s64 dim, int axis);

// How ScatterElements and ScatterND combine an update with what is there (attribute `reduction`).
// data[at[i]] = combine(data[at[i]], updates[i]) in order, for runs of `length` elements.
void scatter(ScatterReduction reduction, const ConstView& updates, std::span<const s64> at,
             s64 length, const MutableView& data);

// Index tuples of GatherND and ScatterND: rows of the last axis, as element offsets into `data` below `batch_dims`.
std::vector<s64> tuple_offsets(const ConstView& indices, std::span<const s64> values,
                               const Shape& data, int batch_dims);

}  // namespace octet
