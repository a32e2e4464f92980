// SPDX-License-Identifier: Apache-2.0
// Running sums from which SQNR, largest difference and cosine of two tensors follow; used for layers and for outputs.
#pragma once

#include <span>

#include "core/types.h"

namespace octet {

class ErrorStats {
 public:
  void add(std::span<const f32> reference, std::span<const f32> tested);

  // Infinite when the tensors are equal.
  f64 sqnr_db() const;
  f64 cosine() const;
  f64 max_abs() const { return max_abs_; }
  s64 elements() const { return elements_; }

 private:
  f64 reference_squares_ = 0;
  f64 tested_squares_ = 0;
  f64 products_ = 0;
  f64 difference_squares_ = 0;
  f64 max_abs_ = 0;
  s64 elements_ = 0;
};

}  // namespace octet
