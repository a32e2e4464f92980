// SPDX-License-Identifier: Apache-2.0
// From a tensor's histogram to the range that its codes will cover.
#pragma once

#include <string_view>
#include <vector>

#include "calibrate/histogram.h"
#include "octet/calibrate.h"

namespace octet {

// The largest magnitude that keeps its value: a tensor that is never negative gets u8 codes with scale threshold / 255, the
// others s8 with threshold / 127. Always large enough for that scale to be a normal float.
struct RangeEstimate {
  f32 min = 0;
  f32 max = 0;
  f32 threshold = 1;
};

// Throws Error(invalid_argument) naming the tensor when NaN or Inf were observed, or nothing at all. A tensor that is always 0
// gets threshold 1.
RangeEstimate estimate_range(const Histogram& histogram, RangeMethod method,
                             std::string_view tensor);

// The histogram spread over kEntropyBins equal bins of [0, amax], zeros left out: they keep their value at any scale, and after
// a ReLU would outweigh everything else.
inline constexpr size_t kEntropyBins = 2048;
std::vector<f64> entropy_bins(const Histogram& histogram);

// How many of these bins to keep so that `levels` codes lose least by Kullback-Leibler divergence: levels..bins.size(); the
// largest such number on a tie.
size_t least_divergence(const std::vector<f64>& bins, size_t levels);
// The same by squared error of rounding and clipping. The entropy method never keeps less than this.
size_t least_error(const std::vector<f64>& bins, size_t levels);

}  // namespace octet
