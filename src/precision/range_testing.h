// SPDX-License-Identifier: Apache-2.0
// Ranges as calibration gives them, for tests.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/types.h"
#include "octet/range.h"

namespace octet {

inline Range range(f32 min, f32 max) {
  Range r;
  r.min = min;
  r.max = max;
  r.threshold = std::max(std::fabs(min), std::fabs(max));
  return r;
}

}  // namespace octet
