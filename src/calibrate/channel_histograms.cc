// SPDX-License-Identifier: Apache-2.0
#include "calibrate/channel_histograms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace octet {
namespace {

constexpr size_t kRow = ChannelHistograms::kBins + 1;
// A bin is what shares the exponent and the first four bits of the mantissa.
constexpr int kKeyShift = 19;
constexpr u32 kMagnitudeBits = 0x7fffffff;
constexpr s32 kInfinityKey = 0x7f800000 >> kKeyShift;
// So many values of a channel of one image say how they are distributed.
constexpr s64 kValuesOfPlane = 512;

s32 key_of(f32 x) {
  return static_cast<s32>((std::bit_cast<u32>(x) & kMagnitudeBits) >> kKeyShift);
}

f64 lower_edge(s32 key) { return f64{std::bit_cast<f32>(static_cast<u32>(key) << kKeyShift)}; }

u32 saturating_sum(u32 a, u32 b) {
  return a > std::numeric_limits<u32>::max() - b ? std::numeric_limits<u32>::max() : a + b;
}

// Odd, so that columns of an even image take turns.
s64 stride_of(s64 pixels) { return pixels <= kValuesOfPlane ? 1 : (pixels / kValuesOfPlane) | 1; }

// Counts of linear bins.
struct LinearBins {
  std::vector<u64> counts = std::vector<u64>(Histogram::kBins);
  f64 width = 1;
  size_t last = 0;  // the one of the largest magnitude

  size_t at(f64 x) const { return std::min(static_cast<size_t>(x / width), last); }

  // Evenly over [begin, end), in whole numbers.
  void spread(f64 begin, f64 end, u64 count) {
    const size_t from = at(begin), to = at(end);
    u64 done = 0;
    for (size_t bin = from; bin < to; ++bin) {
      const f64 share = (static_cast<f64>(bin + 1) * width - begin) / (end - begin);
      const auto until = static_cast<u64>(share * static_cast<f64>(count));
      counts[bin] += until - done;
      done = until;
    }
    counts[to] += count - done;
  }
};

}  // namespace

u32* ChannelHistograms::row_of(size_t channel) { return counts_.data() + channel * kRow; }

void ChannelHistograms::raise(size_t channel, s32 key) {
  if (key <= top_[channel]) return;
  u32* const row = row_of(channel);
  const auto by = static_cast<size_t>(std::min<s32>(key - top_[channel], s32{kBins}));
  for (size_t bin = kBins - by; bin < kBins; ++bin)
    row[kBins] = saturating_sum(row[kBins], row[bin]);
  std::copy_backward(row, row + kBins - by, row + kBins);
  std::fill_n(row, by, 0u);
  top_[channel] = key;
}

void ChannelHistograms::clear() {
  top_.clear();
  counts_.clear();
  zeros_ = 0;
}

void ChannelHistograms::observe(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != Dtype::f32 || shape.rank() != 4 || tensor.elements() == 0) return;
  const auto channels = static_cast<size_t>(shape[1]);
  top_.resize(channels);
  counts_.resize(channels * kRow);
  const s64 pixels = shape[2] * shape[3], stride = stride_of(pixels);
  std::vector<s32> keys(static_cast<size_t>((pixels + stride - 1) / stride));
  const f32* x = tensor.as<f32>().data();
  for (s64 plane = 0; plane < shape[0] * shape[1]; ++plane, x += pixels) {
    const auto channel = static_cast<size_t>(plane % shape[1]);
    s32 highest = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      const f32 value = x[static_cast<s64>(i) * stride];
      keys[i] = key_of(value);
      highest = std::max(highest, keys[i] < kInfinityKey ? keys[i] : 0);
      zeros_ += value == 0.0f ? 1u : 0u;
    }
    raise(channel, highest);
    u32* const row = row_of(channel);
    const s32 top = top_[channel];
    for (const s32 key : keys) {
      if (key >= kInfinityKey) continue;
      u32& into = row[std::min<s32>(top - key, s32{kBins})];
      into = saturating_sum(into, 1);
    }
  }
}

void ChannelHistograms::merge(const ChannelHistograms& other) {
  if (top_.size() < other.top_.size()) {
    top_.resize(other.top_.size());
    counts_.resize(other.counts_.size());
  }
  zeros_ += other.zeros_;
  for (size_t c = 0; c < other.top_.size(); ++c) {
    raise(c, other.top_[c]);
    const auto lower = static_cast<size_t>(std::min<s32>(top_[c] - other.top_[c], s32{kBins}));
    u32* const row = row_of(c);
    const u32* const from = other.counts_.data() + c * kRow;
    for (size_t bin = 0; bin < kBins - lower; ++bin)
      row[bin + lower] = saturating_sum(row[bin + lower], from[bin]);
    for (size_t bin = kBins - lower; bin < kRow; ++bin)
      row[kBins] = saturating_sum(row[kBins], from[bin]);
  }
}

bool ChannelHistograms::is_sound() const {
  return counts_.size() == top_.size() * kRow &&
         std::ranges::all_of(top_, [](s32 key) { return key >= 0 && key < kInfinityKey; });
}

std::optional<Histogram> ChannelHistograms::joined(std::span<const s8> exponents, f32 min,
                                                   f32 max) const {
  OCTET_CHECK(exponents.size() == top_.size());
  const f64 amax = std::max(std::fabs(f64{min}), std::fabs(f64{max}));
  LinearBins bins;
  bins.width = Histogram::bin_width_for(static_cast<f32>(amax));
  bins.last = std::min(static_cast<size_t>(amax / bins.width), Histogram::kBins - 1);
  for (size_t c = 0; c < top_.size(); ++c) {
    const u32* row = counts_.data() + c * kRow;
    const f64 factor = std::ldexp(1.0, exponents[c]);
    for (size_t bin = 0; bin < kBins; ++bin) {
      if (row[bin] == 0) continue;
      const s32 key = top_[c] - static_cast<s32>(bin);
      bins.spread(factor * lower_edge(key), factor * lower_edge(key + 1), row[bin]);
    }
    // Below 2^-16 of the channel's largest value.
    bins.counts[0] += row[kBins];
  }
  return Histogram::restored({bins.counts, bins.width, std::min(zeros_, bins.counts[0]), min, max});
}

}  // namespace octet
