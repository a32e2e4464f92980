// SPDX-License-Identifier: Apache-2.0
// The interval of real numbers that a tensor's codes cover, what calibration saw to choose it, and how it chooses.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

// Where a threshold comes from. docs/calibration.md defines each.
enum class RangeRule : uint8_t {
  entropy,     // Kullback-Leibler divergence, never less than squared error would keep
  minmax,      // the largest magnitude
  percentile,  // the magnitude below which a share of all values lies
  mse,         // least squared error of rounding and clipping
  tensorrt,  // TensorRT's entropy rule: divergence alone on 2048 bins, 128 levels, the middle of the first bin cut off
  legacy,    // a quantile of the values that are not beyond a share of the largest magnitude
  automatic,  // for each tensor, the one of several that disturbs the layers reading it least
  cache,      // the scale of a calibration cache
  given,      // by hand
};

struct RangeMethod {
  RangeRule rule = RangeRule::entropy;
  double quantile = 0;  // percentile: 50..100; legacy: 0..1
  double cutoff = 0;    // legacy: 0..1

  constexpr RangeMethod() = default;
  constexpr RangeMethod(RangeRule r, double q = 0, double c = 0)  // NOLINT: a rule is a method
      : rule(r), quantile(q), cutoff(c) {}
  bool operator==(const RangeMethod&) const = default;
};

// "entropy", "percentile:99.99", "legacy:0.999,0.8"; the form that parse_range_method reads, "cache" and "given" apart.
std::string to_string(const RangeMethod& method);
// Throws Error(invalid_argument) that lists the methods, or says what is wrong with a number.
RangeMethod parse_range_method(std::string_view text);
// Throws Error(invalid_argument) for numbers that no method can have been meant with: a percentile below 50, where more than half of all
// values would saturate (0.9999 is a fraction; 99.99 was meant), or beyond its range.
void check_range_method(const RangeMethod& method);

// Values of one tensor over all calibration data; every range that is made of them shares it.
struct TensorStatistics {
  float bin_width = 0;
  std::vector<uint64_t> histogram;    // of |x|: [i] counts [i, i + 1) * bin_width
  std::vector<double> channel_mean;   // of each channel, where the tensor is an image; else empty
  std::vector<double> channel_power;  // mean square, likewise
  std::vector<double> channel_min = {};  // smallest and largest value, likewise
  std::vector<double> channel_max = {};
};

// A tensor that is never negative gets u8 codes with scale threshold / 255, the others s8 with threshold / 127, unless they lie
// mostly on one side of zero (docs/numerics.md section 1).
struct Range {
  std::string tensor = {};
  float min = 0;  // smallest and largest value
  float max = std::numeric_limits<float>::infinity();
  // |x| beyond it saturates. Of double precision, so that 127 times a scale of single precision is exact.
  double threshold = 0;
  std::optional<RangeMethod> method =
      {};  // that chose the threshold; absent: none, no data were seen
  std::shared_ptr<const TensorStatistics> seen = {};  // null: no data were seen
};

// A tensor whose codes would need a range that nobody gave: the layers around it stay in f32.
struct MissingRange {
  std::string tensor;
  std::vector<std::string> layers;  // that read or write it and would be INT8 with a range
};

}  // namespace octet
