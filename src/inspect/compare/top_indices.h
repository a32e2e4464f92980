// SPDX-License-Identifier: Apache-2.0
// Whether the largest values of two outputs stand in the same places.
#pragma once

#include <span>

#include "core/types.h"
#include "octet/output_comparison.h"

namespace octet {

// Compares the rows along the last dimension of more than one element: each of the first `top` indices of the reference is to stand at most
// `tolerance` places from where it stands in the tested output. Of equal values the first comes first; NaN comes last.
void add_to_top(const Shape& shape, std::span<const f64> reference, std::span<const f64> tested,
                const ComparisonOptions& options, TopIndices& top);

}  // namespace octet
