// SPDX-License-Identifier: Apache-2.0
#include "calibrate/range.h"

#include <algorithm>
#include <cmath>

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
f64 divergence(const std::vector<f64>& bins, const Sums& sums, size_t n, size_t levels) {
  const f64 total = sums.count.back();
  const f64 kept = sums.count[n];
  const f64 clipped = total - kept;
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

f32 entropy_threshold(const Histogram& histogram) {
  const std::vector<f64> bins = entropy_bins(histogram);
  const size_t levels = histogram.min() >= 0 ? kUnsignedLevels : kSignedLevels;
  // Divergence alone cuts too far on networks with SiLU or ReLU6: measured on the outputs of whole networks it lost 3 dB
  // (CIFAR-10, SiLU) and 10 dB (MobileNetV2). The larger of both is within 0.6 dB of the best of min-max, percentiles, squared
  // error and divergence on each of four networks.
  const size_t kept = std::max(least_divergence(bins, levels), least_error(bins, levels));
  // The middle of the first bin that is cut off, as TensorRT has it; never beyond what was seen.
  const f64 amax = histogram.amax();
  const f64 threshold = (static_cast<f64>(kept) + 0.5) * (amax / static_cast<f64>(bins.size()));
  return static_cast<f32>(std::min(threshold, amax));
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

size_t least_divergence(const std::vector<f64>& bins, size_t levels) {
  const Sums sums(bins);
  size_t best = bins.size();
  if (!(sums.count.back() > 0)) return best;
  f64 least = divergence(bins, sums, best, levels);
  for (size_t n = bins.size() - 1; n >= levels; --n) {
    const f64 d = divergence(bins, sums, n, levels);
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

Range estimate_range(const Histogram& histogram, RangeMethod method, std::string_view tensor) {
  check_observed(histogram, tensor);
  Range range{.tensor = std::string(tensor),
              .min = histogram.min(),
              .max = histogram.max(),
              .threshold = histogram.amax(),
              .method = method};
  if (range.threshold == 0) {
    range.threshold = 1;
    return range;
  }
  if (method == RangeMethod::entropy) range.threshold = entropy_threshold(histogram);
  range.threshold = std::max(range.threshold, kMinThreshold);
  return range;
}

}  // namespace octet
