// SPDX-License-Identifier: Apache-2.0
// What INT8 calibration runs on, and how it chooses ranges.
#pragma once

#include "octet/data.h"
#include "octet/range.h"

namespace octet {

// The data are files (DataOptions::data), or what `samples` gives; not both.
struct CalibrationOptions : DataOptions {
  // Read once, converted to the inputs' types; several samples at once along the first axis give what each alone gives. Of the other
  // members of DataOptions `preprocess` alone counts: it is remembered by the engine, and not applied.
  SampleSource samples = nullptr;
  RangeMethod method = RangeMethod::entropy;
};

}  // namespace octet
