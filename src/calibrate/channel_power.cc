// SPDX-License-Identifier: Apache-2.0
#include "calibrate/channel_power.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "arch/isa.h"
#include "calibrate/histogram.h"
#include "calibrate/stream_args.h"
#include "core/exact_mean.h"

namespace octet {
namespace {

void add(std::vector<__int128>& sums, const std::vector<__int128>& more) {
  if (sums.empty()) sums.resize(more.size());
  for (size_t c = 0; c < std::min(sums.size(), more.size()); ++c) sums[c] += more[c];
}

// Of the values that are finite; 0 where none is.
Extremes extremes(const f32* x, size_t count) {
  if (const std::optional<Extremes> all = extremes_of_finite({x, count})) return *all;
  constexpr f32 kMost = std::numeric_limits<f32>::max();
  Extremes e{kMost, -kMost};
  for (size_t i = 0; i < count; ++i) {
    // Comparisons with NaN are false.
    e.lowest = x[i] < e.lowest && x[i] >= -kMost ? x[i] : e.lowest;
    e.highest = x[i] > e.highest && x[i] <= kMost ? x[i] : e.highest;
  }
  // One value alone may be both ends of where the search began.
  if (!(e.lowest <= e.highest)) return {};
  // -0 becomes 0: they are equal, and which of them came first must not be seen.
  return {e.lowest + 0.0f, e.highest + 0.0f};
}

struct Moments {
  f64 squares = 0, values = 0;
};

void add_moments(const f32* x, size_t count, MomentLanes& lanes) {
  for (size_t i = 0; i + kMomentLanes <= count; i += kMomentLanes) {
    for (size_t lane = 0; lane < kMomentLanes; ++lane) {
      const f64 value = f64{x[i + lane]};
      lanes.squares[lane] += value * value;
      lanes.values[lane] += value;
    }
  }
}

// Eight additions are under way at a time, in the same order on every machine.
Moments moments(const f32* x, size_t count) {
  static const bool has_avx2 = detect_isa().has(Isa::avx2);
  MomentLanes lanes;
  has_avx2 ? add_moments_avx2(x, count, lanes) : add_moments(x, count, lanes);
  const size_t whole = count / kMomentLanes * kMomentLanes;
  for (size_t i = whole; i < count; ++i) {
    lanes.squares[i - whole] += f64{x[i]} * f64{x[i]};
    lanes.values[i - whole] += f64{x[i]};
  }
  Moments sum;
  for (size_t lane = 0; lane < kMomentLanes; ++lane) {
    sum.squares += lanes.squares[lane];
    sum.values += lanes.values[lane];
  }
  return sum;
}

}  // namespace

void ChannelPower::observe(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != Dtype::f32 || shape.rank() != 4 || tensor.elements() == 0) return;
  const s64 pixels = shape[2] * shape[3];
  const f64 count = static_cast<f64>(pixels);
  const f32* x = tensor.as<f32>().data();
  for (s64 n = 0; n < shape[0]; ++n) {
    ChannelPower sample;
    for (s64 c = 0; c < shape[1]; ++c, x += pixels) {
      const Moments sum = moments(x, static_cast<size_t>(pixels));
      sample.squares_.push_back(exact_term(sum.squares / count));
      sample.values_.push_back(exact_term(sum.values / count));
      const Extremes ends = extremes(x, static_cast<size_t>(pixels));
      sample.lowest_.push_back(ends.lowest);
      sample.highest_.push_back(ends.highest);
    }
    sample.samples_ = 1;
    merge(sample);
  }
}

void ChannelPower::clear() {
  squares_.clear();
  values_.clear();
  lowest_.clear();
  highest_.clear();
  samples_ = 0;
}

void ChannelPower::merge(const ChannelPower& other) {
  add(squares_, other.squares_);
  add(values_, other.values_);
  if (samples_ == 0) {
    lowest_ = other.lowest_;
    highest_ = other.highest_;
  }
  for (size_t c = 0; c < std::min(lowest_.size(), other.lowest_.size()); ++c) {
    lowest_[c] = std::min(lowest_[c], other.lowest_[c]);
    highest_[c] = std::max(highest_[c], other.highest_[c]);
  }
  samples_ += other.samples_;
}

bool ChannelPower::is_sound() const {
  const size_t channels = lowest_.size();
  return squares_.size() == channels && values_.size() == channels && highest_.size() == channels &&
         (samples_ > 0) == (channels > 0);
}

void ChannelPower::scale(std::span<const s8> exponents) {
  for (size_t c = 0; c < std::min(exponents.size(), lowest_.size()); ++c) {
    const int exponent = exponents[c];
    squares_[c] *= __int128{1} << (2 * exponent);
    values_[c] *= __int128{1} << exponent;
    lowest_[c] = std::ldexp(lowest_[c], exponent);
    highest_[c] = std::ldexp(highest_[c], exponent);
  }
}

std::vector<f64> ChannelPower::means_of(const Sums& sums) const {
  std::vector<f64> means;
  for (const __int128 sum : sums) means.push_back(exact_mean(sum, samples_));
  return means;
}

}  // namespace octet
