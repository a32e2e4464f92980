// SPDX-License-Identifier: Apache-2.0
// From a tensor's histogram to the range that its codes will cover.
#pragma once

#include <string_view>
#include <vector>

#include "calibrate/histogram.h"
#include "octet/calibrate.h"

namespace octet {

// The threshold is always large enough for the scale of its codes to be a normal float; a tensor that is always 0 gets 1. Throws
// Error(invalid_argument) naming the tensor when NaN or Inf were observed, or nothing at all. `method` is one that follows from a
// histogram alone.
Range estimate_range(const Histogram& histogram, const RangeMethod& method,
                     std::string_view tensor);

// The end of the first bin up to which `share` (0..1) of the values lie, by magnitude.
f64 quantile_of(const Histogram& histogram, f64 share);

// The histogram spread over kEntropyBins equal bins of [0, amax], zeros left out: they keep their value at any scale, and after
// a ReLU would outweigh everything else.
inline constexpr size_t kEntropyBins = 2048;
std::vector<f64> entropy_bins(const Histogram& histogram);

// What divergence makes of values beyond a threshold before which there is an empty bin.
enum class EmptyBin {
  count_little,  // as if a ten-thousandth of a value had been there
  forbid,        // the divergence is infinite, as published: no threshold can lie there
};
// How many of these bins to keep so that `levels` codes lose least by Kullback-Leibler divergence: levels..bins.size(); the
// largest such number on a tie.
size_t least_divergence(const std::vector<f64>& bins, size_t levels,
                        EmptyBin empty = EmptyBin::count_little);
// The same by squared error of rounding and clipping. The entropy method never keeps less than this.
size_t least_error(const std::vector<f64>& bins, size_t levels);

}  // namespace octet
