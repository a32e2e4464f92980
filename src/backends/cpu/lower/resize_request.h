// SPDX-License-Identifier: Apache-2.0
// What a lowering knows of a Resize when it plans: constant scales or sizes.
#pragma once

#include <string>
#include <vector>

#include "ops/shared/resize.h"
#include "plan/offer.h"

namespace octet {

// Constants that a shape depends on, as s64; false where the input is none.
bool read_constant_ints(const LowerRequest& request, size_t i, std::vector<s64>& values);

// Fills `geometry`; returns why it is not known, or an empty string. `by_sizes`: sizes name the batch, too.
std::string read_resize(const LowerRequest& request, ResizeGeometry& geometry,
                        bool* by_sizes = nullptr);

}  // namespace octet
