// SPDX-License-Identifier: Apache-2.0
// A mean that does not depend on the order of what it is of.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/types.h"

namespace octet {

class ExactMean {
 public:
  void add(f64 value) {
    const f64 bounded = std::isfinite(value) ? std::clamp(value, -kLargest, kLargest) : 0.0;
    sum_ += static_cast<__int128>(std::ldexp(bounded, kUnitBits));
    ++count_;
  }
  f64 mean() const {
    return count_ == 0 ? 0
                       : std::ldexp(static_cast<f64>(sum_), -kUnitBits) / static_cast<f64>(count_);
  }

 private:
  static constexpr int kUnitBits = 60;
  // Sums of 2^26 values stay below 2^127.
  static constexpr f64 kLargest = 0x1p40;

  __int128 sum_ = 0;
  s64 count_ = 0;
};

}  // namespace octet
