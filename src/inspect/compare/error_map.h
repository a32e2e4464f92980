// SPDX-License-Identifier: Apache-2.0
// Where in an output its errors lie.
#pragma once

#include "inspect/compare/sample_errors.h"
#include "octet/output_comparison.h"

namespace octet {

// Adds one sample's errors. The first sets the grid; others of other sizes are laid over it.
void add_to_map(const Shape& shape, const SampleErrors& errors, ErrorMap& map);

}  // namespace octet
