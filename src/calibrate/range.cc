// SPDX-License-Identifier: Apache-2.0
#include "calibrate/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace octet {
namespace {

// Codes that |x| has: u8 without sign, s8 with.
constexpr size_t kUnsignedLevels = 256;
constexpr size_t kSignedLevels = 128;
// 2^-118 / 255 is still a normal float.
constexpr f32 kMinThreshold = 0x1p-118f;
// Candidates of least_error() are this many bins apart: the error is smooth.
constexpr size_t kErrorStride = 4;

// What Q holds where only clipped values are, in counts. With 0 the divergence would be infinite, and a single far outlier would
// forbid every threshold between it and the bulk.
constexpr f64 kEmptyCount = 1e-4;

f64 x_log_x(f64 x) { return x > 0 ? x * std::log(x) : 0; }

// Running sums over the bins, so that one candidate costs its levels and not its bins.
struct Sums {
  std::vector<f64> count;     // of values below bin i
  std::vector<u32> occupied;  // bins below i that are not empty
  std::vector<f64> p_log_p;

  explicit Sums(const std::vector<f64>& bins)
      : count(bins.size() + 1), occupied(bins.size() + 1), p_log_p(bins.size() + 1) {
    for (size_t i = 0; i < bins.size(); ++i) {
      count[i + 1] = count[i] + bins[i];
      occupied[i + 1] = occupied[i] + (bins[i] > 0 ? 1 : 0);
      p_log_p[i + 1] = p_log_p[i] + x_log_x(bins[i]);
    }
  }
};

// KL(P || Q) when the first n bins are kept. P: what lies beyond is added to the last of them. Q: the kept bins are put into
// `levels` groups, each spread evenly over those of its bins that P occupies.
f64 divergence(const std::vector<f64>& bins, const Sums& sums, size_t n, size_t levels,
               EmptyBin empty) {
  const f64 total = sums.count.back();
  const f64 kept = sums.count[n];
  const f64 clipped = total - kept;
  if (empty == EmptyBin::forbid && (kept <= 0 || (clipped > 0 && !(bins[n - 1] > 0))))
    return std::numeric_limits<f64>::infinity();
  const u32 filled =
      clipped > 0 && !(bins[n - 1] > 0) ? 1 : 0;  // the last bin, by what was clipped
  const f64 p_log_p = sums.p_log_p[n - 1] + x_log_x(bins[n - 1] + clipped);
  f64 p_log_q = 0;
  size_t begin = 0;
  for (size_t level = 1; level <= levels; ++level) {
    const bool last = level == levels;
    const size_t end = (level * n + levels - 1) / levels;
    const u32 occupied = sums.occupied[end] - sums.occupied[begin] + (last ? filled : 0);
    const f64 count = sums.count[end] - sums.count[begin];
    begin = end;
    if (occupied == 0) continue;
    const f64 mass = count + (last ? clipped : 0);
    p_log_q += mass * std::log(std::max(count, kEmptyCount) / occupied);
  }
  return (p_log_p - p_log_q) / total + std::log(kept / total);
}

// Summed squared error of rounding to `levels` codes and clipping, in units of a bin, when the first n bins are kept.
f64 squared_error(const std::vector<f64>& bins, size_t n, size_t levels) {
  const f64 step = static_cast<f64>(n) / static_cast<f64>(levels - 1);
  const f64 inverse = 1 / step;
  f64 sum = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    const f64 x = static_cast<f64>(i) + 0.5;
    const s32 code = static_cast<s32>(x * inverse + 0.5);
    const f64 error = x - step * std::min(code, static_cast<s32>(levels) - 1);
    sum += bins[i] * error * error;
  }
  return sum;
}

// The middle of the first bin that is cut off, as TensorRT has it.
f64 middle_of(size_t bin, f64 amax) {
  return (static_cast<f64>(bin) + 0.5) * (amax / static_cast<f64>(kEntropyBins));
}

f64 entropy_threshold(const Histogram& histogram) {
  const std::vector<f64> bins = entropy_bins(histogram);
  const size_t levels = histogram.min() >= 0 ? kUnsignedLevels : kSignedLevels;
  // Divergence alone cuts too far on networks with SiLU or ReLU6: measured on the outputs of whole networks it lost 3 dB
  // (CIFAR-10, SiLU) and 10 dB (MobileNetV2). The larger of both is within 0.6 dB of the best of min-max, percentiles, squared
  // error and divergence on each of four networks.
  const size_t kept = std::max(least_divergence(bins, levels), least_error(bins, levels));
  return middle_of(kept, histogram.amax());
}

// The published procedure. Bin 0 holds the zeros, which would outweigh everything after a ReLU, and is made like its neighbour.
f64 tensorrt_threshold(const Histogram& histogram) {
  std::vector<f64> bins = entropy_bins(histogram);
  bins[0] = bins[1];
  return middle_of(least_divergence(bins, kSignedLevels, EmptyBin::forbid), histogram.amax());
}

f64 mse_threshold(const Histogram& histogram) {
  const size_t levels = histogram.min() >= 0 ? kUnsignedLevels : kSignedLevels;
  const size_t kept = least_error(entropy_bins(histogram), levels);
  return static_cast<f64>(kept) * (histogram.amax() / static_cast<f64>(kEntropyBins));
}

// The end of the first bin up to which `share` of the values of the first `bins` bins lie.
f64 quantile_among(const Histogram& histogram, f64 share, size_t bins) {
  const std::span<const u64> counts = histogram.counts().first(bins);
  u64 total = 0;
  for (u64 count : counts) total += count;
  const f64 wanted = share * static_cast<f64>(total);
  u64 below = 0;
  for (size_t i = 0; i < bins; ++i) {
    below += counts[i];
    if (static_cast<f64>(below) >= wanted) return static_cast<f64>(i + 1) * histogram.bin_width();
  }
  return histogram.amax();
}

// TensorRT does not publish what its legacy calibrator computes, only that a quantile chooses the region's maximum and that the
// cutoff is a fraction of the largest magnitude. Here: the quantile of what is not beyond that fraction.
f64 legacy_threshold(const Histogram& histogram, const RangeMethod& method) {
  const f64 last = std::floor(method.cutoff * histogram.amax() / histogram.bin_width());
  const size_t bins = std::min(static_cast<size_t>(last) + 1, size_t{Histogram::kBins});
  return quantile_among(histogram, method.quantile, bins);
}

f64 threshold_of(const Histogram& histogram, const RangeMethod& method) {
  check_range_method(method);
  switch (method.rule) {
    case RangeRule::entropy:
      return entropy_threshold(histogram);
    case RangeRule::tensorrt:
      return tensorrt_threshold(histogram);
    case RangeRule::mse:
      return mse_threshold(histogram);
    case RangeRule::percentile:
      return quantile_of(histogram, method.quantile / 100);
    case RangeRule::legacy:
      return legacy_threshold(histogram, method);
    default:
      OCTET_CHECK(method.rule == RangeRule::minmax);
      return histogram.amax();
  }
}

void check_observed(const Histogram& histogram, std::string_view tensor) {
  if (histogram.nans() > 0 || histogram.infs() > 0) {
    fail(Error::Code::invalid_argument,
         "tensor '{}': {} NaN and {} Inf among its calibration values; the model or its input "
         "preparation is wrong",
         tensor, histogram.nans(), histogram.infs());
  }
  if (histogram.count() == 0) {
    fail(Error::Code::invalid_argument, "tensor '{}' had no values in calibration", tensor);
  }
}

}  // namespace

f64 quantile_of(const Histogram& histogram, f64 share) {
  return quantile_among(histogram, share, Histogram::kBins);
}

std::vector<f64> entropy_bins(const Histogram& histogram) {
  std::vector<f64> bins(kEntropyBins);
  const f64 amax = histogram.amax();
  if (!(amax > 0)) return bins;
  // Where the edges of the fine bins lie among the coarse ones; coarse bins are 1 to 2 fine ones wide.
  const f64 ratio = histogram.bin_width() * static_cast<f64>(kEntropyBins) / amax;
  for (size_t i = 0; i < Histogram::kBins; ++i) {
    const u64 count = histogram.counts()[i] - (i == 0 ? histogram.zeros() : 0);
    if (count == 0) continue;
    const f64 begin = static_cast<f64>(i) * ratio;
    const f64 end = begin + ratio;
    const size_t first = std::min(static_cast<size_t>(begin), kEntropyBins - 1);
    const size_t last = std::min(static_cast<size_t>(end), kEntropyBins - 1);
    // By share of width, the rest to the last one, so that the total stays.
    f64 left = static_cast<f64>(count);
    for (size_t b = first; b < last; ++b) {
      const f64 covered =
          std::min(end, static_cast<f64>(b + 1)) - std::max(begin, static_cast<f64>(b));
      const f64 share = static_cast<f64>(count) * covered / ratio;
      bins[b] += share;
      left -= share;
    }
    bins[last] += std::max(left, 0.0);
  }
  return bins;
}

size_t least_divergence(const std::vector<f64>& bins, size_t levels, EmptyBin empty) {
  const Sums sums(bins);
  size_t best = bins.size();
  if (!(sums.count.back() > 0)) return best;
  f64 least = divergence(bins, sums, best, levels, empty);
  for (size_t n = bins.size() - 1; n >= levels; --n) {
    const f64 d = divergence(bins, sums, n, levels, empty);
    if (d < least) {
      least = d;
      best = n;
    }
  }
  return best;
}

size_t least_error(const std::vector<f64>& bins, size_t levels) {
  size_t best = bins.size();
  f64 least = squared_error(bins, best, levels);
  for (size_t n = bins.size() - kErrorStride; n >= levels; n -= kErrorStride) {
    const f64 error = squared_error(bins, n, levels);
    if (error < least) {
      least = error;
      best = n;
    }
  }
  return best;
}

Range estimate_range(const Histogram& histogram, const RangeMethod& method,
                     std::string_view tensor) {
  check_observed(histogram, tensor);
  const f32 amax = histogram.amax();
  Range range{.tensor = std::string(tensor),
              .min = histogram.min(),
              .max = histogram.max(),
              .threshold = 1,
              .method = method};
  if (amax == 0) return range;
  // TensorRT's rule alone may pass what was seen, by half a bin: its scales are to be met to the bit.
  const f64 most = method.rule == RangeRule::tensorrt ? std::numeric_limits<f64>::infinity() : amax;
  const f64 threshold = std::min(threshold_of(histogram, method), most);
  range.threshold = std::max(static_cast<f32>(threshold), kMinThreshold);
  return range;
}

}  // namespace octet
