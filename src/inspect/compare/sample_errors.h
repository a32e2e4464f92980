// SPDX-License-Identifier: Apache-2.0
// The errors of one output of one sample.
#pragma once

#include <vector>

#include "core/types.h"
#include "octet/output_comparison.h"
#include "octet/tensor.h"

namespace octet {

struct SampleErrors {
  std::vector<f64> tested, reference;  // the values
  std::vector<f64> absolute,
      relative;  // NaN where a value is, and of equal infinities unless those are equal
};

// Of tensors of one shape and of types that are comparable(). Differences of integers are exact.
SampleErrors sample_errors(const Tensor& reference, const Tensor& tested, bool equal_infinities);

// As NumPy's: NaN where one of them is. Of no errors all is 0.
ErrorSpread spread_of(const std::vector<f64>& errors, f64 quantile);

}  // namespace octet
