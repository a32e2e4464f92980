// SPDX-License-Identifier: Apache-2.0
// How far an output may be from the one that it is held against, judged as Polygraphy judges it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

// What of the errors of one sample is held against the tolerances. An element fails beyond both of them, and so does a statistic: that of
// the absolute errors beyond the one, and that of the relative errors beyond the other.
enum class ErrorStatistic : uint8_t {
  elementwise,  // each element; one that fails is enough
  max,
  mean,
  median,
  quantile,
};
std::string_view to_string(ErrorStatistic statistic);  // "elemwise", the others by their names

struct Tolerance {
  double absolute = 1e-5;
  double relative = 1e-5;
  ErrorStatistic statistic = ErrorStatistic::elementwise;
  double quantile = 0.99;  // of ErrorStatistic::quantile, 0 to 1

  bool passes(double absolute_error, double relative_error) const {
    return absolute_error <= absolute || relative_error <= relative;
  }
};

// As users write them: "1e-3" for all outputs, "logits:1e-3" (the value behind the last colon) for one. Of one output the last counts.
struct ToleranceTexts {
  std::vector<std::string> absolute, relative, statistics, quantiles;
};

// One for each output. Throws one Error(invalid_argument) that lists every text that is wrong: no number, one that is negative or not finite,
// no statistic, a name that is no output's.
std::vector<Tolerance> parse_tolerances(const ToleranceTexts& texts,
                                        std::span<const std::string> outputs);

}  // namespace octet
