// SPDX-License-Identifier: Apache-2.0
// Running sums from which SQNR, largest difference and cosine of two tensors follow; used for layers and for outputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octet/tensor.h"

namespace octet {

// What JSON and reports say of an SQNR without bound below: it has no number for infinity.
inline constexpr double kWorstSqnrDb = -1000;

class ErrorStats {
 public:
  // As many elements in both; throws Error(invalid_argument) otherwise.
  void add(std::span<const float> reference, std::span<const float> tested);

  // Infinite when the tensors are equal.
  double sqnr_db() const;
  double cosine() const;
  double max_abs() const { return max_abs_; }
  int64_t elements() const { return elements_; }

 private:
  double reference_squares_ = 0;
  double tested_squares_ = 0;
  double products_ = 0;
  double difference_squares_ = 0;
  double max_abs_ = 0;
  int64_t elements_ = 0;
};

// The elements of a tensor in host memory as floats, whatever the element type.
std::vector<float> to_floats(const Tensor& tensor);

}  // namespace octet
