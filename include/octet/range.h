// SPDX-License-Identifier: Apache-2.0
// The interval of real numbers that a tensor's codes cover, and what calibration saw to choose it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

enum class RangeMethod { minmax, entropy };

std::string_view range_method_name(RangeMethod method);  // "minmax", "entropy"

// Values of one tensor over all calibration data; every range that is made of them shares it.
struct TensorStatistics {
  float bin_width = 0;
  std::vector<uint64_t> histogram;    // of |x|: [i] counts [i, i + 1) * bin_width
  std::vector<double> channel_mean;   // of each channel, where the tensor is an image; else empty
  std::vector<double> channel_power;  // mean square, likewise
};

// A tensor that is never negative gets u8 codes with scale threshold / 255, the others s8 with threshold / 127, unless they lie
// mostly on one side of zero (docs/numerics.md section 1).
struct Range {
  std::string tensor = {};
  float min = 0;  // smallest and largest value
  float max = std::numeric_limits<float>::infinity();
  float threshold = 0;  // |x| beyond it saturates
  std::optional<RangeMethod> method =
      {};  // that chose the threshold; absent: none, no data were seen
  std::shared_ptr<const TensorStatistics> seen = {};  // null: no data were seen
};

}  // namespace octet
