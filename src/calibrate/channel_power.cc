// SPDX-License-Identifier: Apache-2.0
#include "calibrate/channel_power.h"

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

constexpr int kUnitBits = 60;
// Sums of 2^26 samples stay below 2^127.
constexpr f64 kLargest = 0x1p40;

__int128 fixed(f64 sum, s64 count) {
  const f64 mean = sum / static_cast<f64>(count);
  const f64 bounded = std::isfinite(mean) ? std::clamp(mean, -kLargest, kLargest) : 0.0;
  return static_cast<__int128>(std::ldexp(bounded, kUnitBits));
}

void add(std::vector<__int128>& sums, const std::vector<__int128>& more) {
  if (sums.empty()) sums.resize(more.size());
  for (size_t c = 0; c < std::min(sums.size(), more.size()); ++c) sums[c] += more[c];
}

}  // namespace

void ChannelPower::observe(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != Dtype::f32 || shape.rank() != 4 || tensor.elements() == 0) return;
  const s64 pixels = shape[2] * shape[3];
  ChannelPower sample;
  const f32* x = tensor.as<f32>().data();
  for (s64 c = 0; c < shape[1]; ++c, x += pixels) {
    f64 squares = 0, values = 0;
    for (s64 i = 0; i < pixels; ++i) {
      squares += f64{x[i]} * f64{x[i]};
      values += f64{x[i]};
    }
    sample.squares_.push_back(fixed(squares, pixels));
    sample.values_.push_back(fixed(values, pixels));
  }
  sample.samples_ = 1;
  merge(sample);
}

void ChannelPower::merge(const ChannelPower& other) {
  add(squares_, other.squares_);
  add(values_, other.values_);
  samples_ += other.samples_;
}

std::vector<f64> ChannelPower::means_of(const Sums& sums) const {
  std::vector<f64> means;
  for (const __int128 sum : sums) {
    means.push_back(std::ldexp(static_cast<f64>(sum), -kUnitBits) / static_cast<f64>(samples_));
  }
  return means;
}

}  // namespace octet
