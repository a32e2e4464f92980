// SPDX-License-Identifier: Apache-2.0
// Mean, mean square and extremes of every channel of an image tensor over the calibration data.
#pragma once

#include <span>
#include <vector>

#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

// Sums are integers, so that the order of the samples does not matter; values that are not finite count as zero.
class ChannelPower {
 public:
  // Samples [N, C, H, W] in f32, each by itself. Tensors of another rank leave it empty.
  void observe(const Tensor& tensor);
  void merge(const ChannelPower& other);
  void clear();  // as if nothing had been observed
  // As if channel c had been multiplied by 2^exponents[c], none of which is negative. Exact while values stay below 2^20.
  void scale(std::span<const s8> exponents);
  // Of each channel; empty when nothing was observed.
  std::vector<f64> mean_squares() const { return means_of(squares_); }
  std::vector<f64> means() const { return means_of(values_); }
  std::vector<f64> minima() const { return {lowest_.begin(), lowest_.end()}; }
  std::vector<f64> maxima() const { return {highest_.begin(), highest_.end()}; }

  // For core/archive.h; behind a reader is_sound() tells whether the members fit each other.
  template <class Archive>
  void archive(Archive& archive) {
    archive(squares_, values_, lowest_, highest_, samples_);
  }
  bool is_sound() const;
  // Of as many channels, or of none.
  bool fits(const ChannelPower& other) const {
    return samples_ == 0 || other.samples_ == 0 || lowest_.size() == other.lowest_.size();
  }

 private:
  using Sums = std::vector<__int128>;  // of the samples' means, in units of 2^-60
  std::vector<f64> means_of(const Sums& sums) const;

  Sums squares_, values_;
  std::vector<f32> lowest_, highest_;
  u64 samples_ = 0;
};

}  // namespace octet
