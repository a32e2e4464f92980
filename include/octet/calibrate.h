// SPDX-License-Identifier: Apache-2.0
// What INT8 calibration runs on, and how it chooses ranges.
#pragma once

#include "octet/data.h"
#include "octet/range.h"

namespace octet {

struct CalibrationOptions : DataOptions {
  RangeMethod method = RangeMethod::entropy;
};

}  // namespace octet
