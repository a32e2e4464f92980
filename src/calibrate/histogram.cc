// SPDX-License-Identifier: Apache-2.0
#include "calibrate/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "arch/isa.h"
#include "calibrate/stream_args.h"

namespace octet {
namespace {

// No float needs wider bins.
constexpr int kMaxExponent = 128;

constexpr size_t kBlock = 4096;  // of bin indices, 16 KB: they stay in the first-level cache
// 1 MB, read twice: the second time from the second-level cache. Also keeps 32-bit counts of one piece in range.
constexpr size_t kPiece = size_t{1} << 18;
constexpr int kBinBits = std::bit_width(Histogram::kBins) - 1;
constexpr u32 kMagnitude = 0x7fffffff;
constexpr u32 kInfinity = 0x7f800000;
// From here on, four tables that are added up at the end pay: equal neighbours (zeros, above all) would otherwise wait for each
// other's count to reach memory.
constexpr size_t kTables = 4;
constexpr size_t kManyValues = 16384;

// Orders like the float: integer comparisons vectorize on every machine, float ones do not without changing NaN's meaning.
s32 order_key(u32 bits) {
  const s32 sign = static_cast<s32>(bits) >> 31;
  return static_cast<s32>(bits ^ (static_cast<u32>(sign) & kMagnitude));
}

f32 value_of_key(s32 key) {
  const s32 sign = key >> 31;
  return std::bit_cast<f32>(static_cast<u32>(key) ^ (static_cast<u32>(sign) & kMagnitude));
}

bool has_avx2() {
  static const bool has = detect_isa().has(Isa::avx2);
  return has;
}

BlockFacts examine(std::span<const f32> values) {
  BlockFacts facts;
  if (has_avx2()) {
    examine_avx2(values.data(), values.size(), facts);
    return facts;
  }
  for (f32 value : values) {
    const u32 bits = std::bit_cast<u32>(value);
    const s32 magnitude = static_cast<s32>(bits & kMagnitude);
    const s32 key = order_key(bits);
    facts.max_magnitude = magnitude > facts.max_magnitude ? magnitude : facts.max_magnitude;
    facts.min_key = key < facts.min_key ? key : facts.min_key;
    facts.max_key = key > facts.max_key ? key : facts.max_key;
    facts.zeros += magnitude == 0;
  }
  return facts;
}

void find_bins(std::span<const f32> values, f32 scale, s32* bins) {
  if (has_avx2()) {
    find_bins_avx2(values.data(), values.size(), scale, bins);
    return;
  }
  for (size_t i = 0; i < values.size(); ++i)
    bins[i] = static_cast<s32>(std::abs(values[i]) * scale);
}

// The smallest exponent at which kBins bins reach beyond the magnitude. |x| < 2^(e+1) with e its own exponent.
int exponent_for(u32 magnitude_bits) {
  const int exponent = static_cast<int>(magnitude_bits >> 23) - 127 + 1 - kBinBits;
  return std::max(exponent, Histogram::kMinExponent);
}

// -0 and 0 are one value; a minimum of -0 must not depend on which came first.
f32 plus_zero(f32 x) { return x == 0 ? 0.0f : x; }

}  // namespace

std::optional<Extremes> extremes_of_finite(std::span<const f32> values) {
  const BlockFacts facts = examine(values);
  if (values.empty() || static_cast<u32>(facts.max_magnitude) >= kInfinity) return std::nullopt;
  return Extremes{plus_zero(value_of_key(facts.min_key)), plus_zero(value_of_key(facts.max_key))};
}

f32 Histogram::amax() const { return std::max(std::abs(min()), std::abs(max())); }

f64 Histogram::bin_width() const { return std::ldexp(1.0, exponent_); }

f64 Histogram::bin_width_for(f32 amax) {
  return std::ldexp(1.0, exponent_for(std::bit_cast<u32>(amax)));
}

std::optional<Histogram> Histogram::restored(const Parts& parts) {
  Histogram histogram;
  if (parts.counts.size() > kBins || !(parts.min <= parts.max)) return std::nullopt;
  histogram.min_ = parts.min;
  histogram.max_ = parts.max;
  histogram.zeros_ = parts.zeros;
  for (u64 count : parts.counts) histogram.count_ += count;
  histogram.exponent_ = exponent_for(std::bit_cast<u32>(histogram.amax()));
  std::ranges::copy(parts.counts, histogram.counts_.begin());
  const bool fits = std::isfinite(parts.min) && std::isfinite(parts.max) &&
                    histogram.bin_width() == parts.bin_width && histogram.count_ > 0 &&
                    parts.zeros <= histogram.counts_[0];
  if (!fits) return std::nullopt;
  return histogram;
}

bool Histogram::is_sound() const {
  Histogram finite = *this;
  finite.nans_ = finite.infs_ = 0;
  if (counts_.size() != kBins || exponent_ < kMinExponent || exponent_ > kMaxExponent) return false;
  if (count_ == 0) return finite == Histogram();
  return restored({counts_, bin_width(), zeros_, min_, max_}) == finite;
}

void Histogram::observe(std::span<const f32> values) {
  while (!values.empty()) {
    const size_t n = std::min(values.size(), kPiece);
    observe_block(values.first(n));
    values = values.subspan(n);
  }
}

void Histogram::observe_block(std::span<const f32> values) {
  const BlockFacts facts = examine(values);
  const u32 max_magnitude = static_cast<u32>(facts.max_magnitude);
  if (max_magnitude >= kInfinity) {
    observe_mixed(values);
    return;
  }
  const f32 low = plus_zero(value_of_key(facts.min_key));
  const f32 high = plus_zero(value_of_key(facts.max_key));
  min_ = count_ == 0 ? low : std::min(min_, low);
  max_ = count_ == 0 ? high : std::max(max_, high);
  count_ += values.size();
  zeros_ += static_cast<u32>(facts.zeros);
  grow(exponent_for(max_magnitude));
  add_counts(values);
}

// Rare and wrong input: pick the finite values out and go on with them.
void Histogram::observe_mixed(std::span<const f32> values) {
  std::vector<f32> finite;
  for (f32 value : values) {
    if (std::isfinite(value)) {
      finite.push_back(value);
    } else if (std::isnan(value)) {
      ++nans_;
    } else {
      ++infs_;
    }
  }
  if (!finite.empty()) observe_block(finite);
}

void Histogram::grow(int exponent) {
  if (exponent <= exponent_) return;
  // Bin i goes to bin i >> shift; beyond kBinBits everything ends in bin 0.
  const int shift = std::min(exponent - exponent_, kBinBits);
  exponent_ = exponent;
  if (count_ == 0) return;
  for (size_t i = 1; i < kBins; ++i) {
    const u64 n = counts_[i];
    counts_[i] = 0;
    counts_[i >> shift] += n;
  }
}

void Histogram::add_counts(std::span<const f32> values) {
  // A power of two: the product is exact, or so small that it belongs to bin 0 anyway.
  const f32 scale = std::ldexp(1.0f, -exponent_);
  if (values.size() < kManyValues) {
    for (f32 value : values)
      ++counts_[static_cast<size_t>(static_cast<s32>(std::abs(value) * scale))];
    return;
  }
  std::vector<u32> tables(kTables * kBins);
  u32* const table[kTables] = {tables.data(), tables.data() + kBins, tables.data() + 2 * kBins,
                               tables.data() + 3 * kBins};
  s32 bins[kBlock];
  for (size_t at = 0; at < values.size(); at += kBlock) {
    const size_t n = std::min(kBlock, values.size() - at);
    find_bins(values.subspan(at, n), scale, bins);
    size_t i = 0;
    for (; i + kTables <= n; i += kTables) {
      for (size_t t = 0; t < kTables; ++t) ++table[t][bins[i + t]];
    }
    for (; i < n; ++i) ++table[0][bins[i]];
  }
  for (size_t b = 0; b < kBins; ++b) {
    for (size_t t = 0; t < kTables; ++t) counts_[b] += table[t][b];
  }
}

void Histogram::merge(const Histogram& other) {
  nans_ += other.nans_;
  infs_ += other.infs_;
  if (other.count_ == 0) return;
  grow(other.exponent_);
  const int shift = std::min(exponent_ - other.exponent_, kBinBits);
  for (size_t i = 0; i < kBins; ++i) counts_[i >> shift] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  zeros_ += other.zeros_;
}

void Histogram::clear() {
  if (count_ > 0) std::ranges::fill(counts_, 0);
  exponent_ = kMinExponent;
  count_ = zeros_ = nans_ = infs_ = 0;
  min_ = max_ = 0;
}

}  // namespace octet
