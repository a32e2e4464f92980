// SPDX-License-Identifier: Apache-2.0
// A mean that does not depend on the order of what it is of.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/types.h"

namespace octet {

inline constexpr int kExactUnitBits = 60;

// Integers, whose sums are the same in any order. Those of 2^26 values stay below 2^127.
inline __int128 exact_term(f64 value) {
  constexpr f64 kLargest = 0x1p40;
  const f64 bounded = std::isfinite(value) ? std::clamp(value, -kLargest, kLargest) : 0.0;
  return static_cast<__int128>(std::ldexp(bounded, kExactUnitBits));
}
inline f64 exact_mean(__int128 sum, u64 count) {
  return std::ldexp(static_cast<f64>(sum), -kExactUnitBits) / static_cast<f64>(count);
}

class ExactMean {
 public:
  void add(f64 value) {
    sum_ += exact_term(value);
    ++count_;
  }
  void merge(const ExactMean& other) {
    sum_ += other.sum_;
    count_ += other.count_;
  }
  template <class Archive>
  void archive(Archive& archive) {
    archive(sum_, count_);
  }
  f64 mean() const { return count_ == 0 ? 0 : exact_mean(sum_, count_); }

 private:
  __int128 sum_ = 0;
  u64 count_ = 0;
};

}  // namespace octet
