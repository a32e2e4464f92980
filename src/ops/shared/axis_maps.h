// SPDX-License-Identifier: Apache-2.0
// Copies whose source index is a function of each axis alone: Pad, Tile.
#pragma once

#include <vector>

#include "core/types.h"
#include "graph/op_def.h"

namespace octet {

// For each axis, the source index of each destination index; -1: not from the source (the fill value).
using AxisMaps = std::vector<std::vector<s64>>;

// Elements with -1 on any axis become the element that `fill` points to, zero when it is null.
void mapped_copy(const AxisMaps& maps, const ConstView& src, const MutableView& dst,
                 const void* fill = nullptr);

}  // namespace octet
