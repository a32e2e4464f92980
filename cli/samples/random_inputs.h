// SPDX-License-Identifier: Apache-2.0
// Inputs that no file gives.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/engine.h"

namespace octet::cli {

// Real numbers lie in [0, 1), codes of 8 bits anywhere, truth values are either; integers of more bits are 0, for they are
// places in tables, sizes and counts, and other values of them may be none. The same seed gives the same numbers.
std::vector<Tensor> random_inputs(const Engine& engine, const std::vector<Shape>& shapes,
                                  uint64_t seed);

}  // namespace octet::cli
