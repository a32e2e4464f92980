// SPDX-License-Identifier: Apache-2.0
// The distribution of |x| of one tensor over all calibration data. The same values give the same histogram, bit for bit, in
// whatever order, batches or threads they come.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/types.h"

namespace octet {

// Bins are 2^exponent wide and begin at 0. When a value lies beyond the last bin, neighbours merge in pairs and the width
// doubles, which moves no value into a bin that it would not have been counted in at once; so the final width follows from
// max|x| alone: the smallest at which it fits. That puts max|x| into the upper half: 2048 to 4096 bins are in use.
class Histogram {
 public:
  static constexpr size_t kBins = 4096;
  // 2^-126, the smallest normal float: narrower bins would need denormal arithmetic.
  static constexpr int kMinExponent = -126;

  Histogram() : counts_(kBins) {}

  // NaN and Inf are counted, never binned, and do not enter min and max.
  void observe(std::span<const f32> values);
  void merge(const Histogram& other);
  void clear();  // as if nothing had been observed

  u64 count() const { return count_; }  // finite values
  u64 zeros() const { return zeros_; }  // of either sign
  u64 nans() const { return nans_; }
  u64 infs() const { return infs_; }
  // Of finite values; 0 when there are none. A zero has no sign here.
  f32 min() const { return count_ == 0 ? 0.0f : min_; }
  f32 max() const { return count_ == 0 ? 0.0f : max_; }
  f32 amax() const;

  std::span<const u64> counts() const { return counts_; }
  f64 bin_width() const;
  // Of a histogram whose largest magnitude that is.
  static f64 bin_width_for(f32 amax);

  // What a histogram was made of, as a file keeps it: trailing counts of 0 may be missing.
  struct Parts {
    std::vector<u64> counts;
    f64 bin_width = 0;
    u64 zeros = 0;
    f32 min = 0;
    f32 max = 0;
  };
  // Nothing where no observation gives such parts.
  static std::optional<Histogram> restored(const Parts& parts);

  bool operator==(const Histogram&) const = default;

  // For core/archive.h; behind a reader is_sound() tells whether observations give such members.
  template <class Archive>
  void archive(Archive& archive) {
    archive(counts_, exponent_, count_, zeros_, nans_, infs_, min_, max_);
  }
  bool is_sound() const;

 private:
  void observe_block(std::span<const f32> values);
  void observe_finite(std::span<const f32> values, u32 max_bits);
  void observe_mixed(std::span<const f32> values);
  void grow(int exponent);
  void add_counts(std::span<const f32> values);

  std::vector<u64> counts_;
  int exponent_ = kMinExponent;
  u64 count_ = 0;
  u64 zeros_ = 0;
  u64 nans_ = 0;
  u64 infs_ = 0;
  f32 min_ = 0;
  f32 max_ = 0;
};

struct Extremes {
  f32 lowest = 0, highest = 0;  // a zero has no sign
};
// Nothing where a value is not finite, or where there is none.
std::optional<Extremes> extremes_of_finite(std::span<const f32> values);

}  // namespace octet
