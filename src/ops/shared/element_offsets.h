// SPDX-License-Identifier: Apache-2.0
// The index rule that GatherElements and ScatterElements share.
#pragma once

#include <span>
#include <vector>

#include "core/types.h"
#include "graph/op_def.h"

namespace octet {

// Checks that `indices` can address `data`: same rank, no larger on any other axis than the given one.
void check_element_indices(const Shape& data, const Shape& indices, int axis);

// For each index, the offset into `data` of the element at the index's own position with `axis` replaced by the index.
std::vector<s64> element_offsets(const Shape& data, const Shape& indices,
                                 std::span<const s64> values, int axis);

}  // namespace octet
