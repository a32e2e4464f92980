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

struct Moments {
  f64 squares = 0, values = 0;
};

// Each lane adds up every eighth value: eight additions are under way at a time, and the order is the same on every machine.
Moments moments(const f32* x, s64 count) {
  constexpr s64 kLanes = 8;
  f64 squares[kLanes] = {}, values[kLanes] = {};
  s64 i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (s64 lane = 0; lane < kLanes; ++lane) {
      const f64 value = f64{x[i + lane]};
      squares[lane] += value * value;
      values[lane] += value;
    }
  }
  for (s64 lane = 0; i < count; ++i, ++lane) {
    squares[lane] += f64{x[i]} * f64{x[i]};
    values[lane] += f64{x[i]};
  }
  Moments sum;
  for (s64 lane = 0; lane < kLanes; ++lane) {
    sum.squares += squares[lane];
    sum.values += values[lane];
  }
  return sum;
}

}  // namespace

void ChannelPower::observe(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != Dtype::f32 || shape.rank() != 4 || tensor.elements() == 0) return;
  const s64 pixels = shape[2] * shape[3];
  ChannelPower sample;
  const f32* x = tensor.as<f32>().data();
  for (s64 c = 0; c < shape[1]; ++c, x += pixels) {
    const Moments sum = moments(x, pixels);
    sample.squares_.push_back(fixed(sum.squares, pixels));
    sample.values_.push_back(fixed(sum.values, pixels));
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
