// SPDX-License-Identifier: Apache-2.0
// What nodes do with rows that grow, where attributes and operands decide. What has no growing form ends in refuse_growing().
#pragma once

#include <vector>

#include "plan/growing_lengths.h"

namespace octet {

// Of a node that computes from axis `from` on, or splits along it: it must not be the axis that grows.
void check_apart(const GrowingLengths& at, const Node& node, s64 from, bool splits);

// Whether indices are known and mean the same rows, whatever lies behind those in use.
bool count_from_first(const GrowingLengths& at, ValueId indices);

// Whether row i of the updates goes to row i of the data: masks are filled so.
bool scatters_to_own_rows(const GrowingLengths& at, const Node& node);

// Where a Slice of one axis begins, with as many rows, for the least and the most length.
struct Cut {
  int axis = 0;
  s64 least = 0, most = 0;
};

// Of each axis that a Slice cuts. Where both lengths are cut alike, or keep all of what grows, `least` and `most` are equal.
std::vector<Cut> cuts_of(const GrowingLengths& at, const Node& node);

}  // namespace octet
