// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/fine_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/fine_table.h"
#include "ops/quantized/epilogue.h"

namespace octet {
namespace {

constexpr size_t kSamples = 16;  // of a segment
constexpr s32 kSampleStep = kFineStep / static_cast<s32>(kSamples);
// A line is asked for so far beyond the codes: what bounds cut afterwards need not be met.
constexpr f64 kBeyond = 32;
// Where the function's tails may be cut, in codes.
constexpr std::array<f64, 3> kTails = {1.0 / 32, 1.0 / 8, 1.0 / 4};
// Kinks (HardSwish's) should lie between two segments, so several widths of a segment are tried.
constexpr f64 kFewestSegments = 56, kSegmentStep = 0.5;

// The function in codes of its result, real.
class Function {
 public:
  Function(const Node& node, const Activation& before, const FineOutput& output)
      : node_(node), before_(before), output_(output), codes_(code_range(output.dtype)) {}

  std::vector<f64> at(std::span<const f64> x) const {
    Tensor real(Dtype::f32, Shape{std::ssize(x)});
    for (size_t i = 0; i < x.size(); ++i)
      real.mutable_as<f32>()[i] = apply(before_, static_cast<f32>(x[i]));
    const std::vector<Tensor> inputs{std::move(real)};
    const Tensor result = eval_node(node_, inputs)[0];
    std::vector<f64> y;
    y.reserve(x.size());
    for (const f32 value : result.as<f32>())
      y.push_back(f64{value} / f64{output_.params.scale} + output_.params.zero_point);
    return y;
  }
  f64 bounded(f64 y, f64 beyond = 0) const {
    return std::clamp(y, codes_.lo - beyond, codes_.hi + beyond);
  }

 private:
  const Node& node_;
  const Activation& before_;
  const FineOutput& output_;
  const CodeRange codes_;
};

// Ascending, by sixteenths of an octave from 2^-14 to 2^20 on both sides of zero.
std::vector<f64> far_and_near() {
  std::vector<f64> x;
  for (int i = 20 * 16; i >= -14 * 16; --i) x.push_back(-std::exp2(i / 16.0));
  const size_t below = x.size();
  x.push_back(0);
  for (size_t i = below; i-- > 0;) x.push_back(-x[i]);
  return x;
}

struct Reach {
  f64 low = 0, high = 0;
};

// Where `y` has left its first value by more than `tail`: between x[i] and x[i + 1].
size_t flat_until(std::span<const f64> y, f64 tail) {
  size_t i = 0;
  while (i + 1 < y.size() && std::abs(y[i + 1] - y[0]) <= tail) ++i;
  return i;
}

// The same between two neighbors of the samples, from `from` where it is flat to `to`.
f64 refined(const Function& f, f64 from, f64 to, f64 flat, f64 tail) {
  std::vector<f64> x;
  for (int i = 0; i <= 256; ++i) x.push_back(from + (to - from) * i / 256);
  const std::vector<f64> y = f.at(x);
  size_t i = 0;
  while (i + 1 < x.size() && std::abs(f.bounded(y[i + 1]) - flat) <= tail) ++i;
  return x[i];
}

struct Samples {
  std::vector<f64> x, y;  // y bounded
};

std::optional<Reach> reach_of(const Function& f, const Samples& samples, f64 tail) {
  const std::vector<f64>& x = samples.x;
  std::vector<f64> y = samples.y;
  const size_t left = flat_until(y, tail);
  if (left + 1 == x.size()) return std::nullopt;
  Reach reach;
  reach.low = refined(f, x[left], x[left + 1], y.front(), tail);
  std::ranges::reverse(y);
  const size_t right = x.size() - 1 - flat_until(y, tail);
  reach.high = right == 0 ? x[0] : refined(f, x[right], x[right - 1], y.front(), tail);
  reach.low = std::min(reach.low, 0.0);
  reach.high = std::max(reach.high, 0.0);
  if (!(reach.low < reach.high)) return std::nullopt;
  return reach;
}

// The line through a segment's ends, moved so that its errors cancel.
s32 fitted(std::span<const f64> y) {
  const f64 rise = std::nearbyint((y[kSamples] - y[0]) * kFineUnit);
  const f64 slope = std::clamp(rise, -32768.0, 32767.0);
  f64 sum = 0;
  for (size_t k = 0; k < kSamples; ++k)
    sum += y[k] * kFineUnit - slope * static_cast<f64>(k) / f64{kSamples};
  const f64 base = std::clamp(std::nearbyint(sum / kSamples), -f64{kFineBase}, f64{kFineBase});
  return fine_segment(static_cast<s32>(base), static_cast<s32>(slope));
}

// Of `y`, a sample more than the segment has.
s32 line_of(const Function& f, std::span<const f64> y) {
  std::array<f64, kSamples + 1> near;
  std::ranges::transform(y, near.begin(), [&](f64 value) { return f.bounded(value, kBeyond); });
  return fitted(near);
}

// The largest error of the segment that begins at `code`, in codes of the result.
f64 error_of(const Function& f, std::span<const s32> segments, s32 code, std::span<const f64> y) {
  f64 error = 0;
  for (size_t k = 0; k < kSamples; ++k, code += kSampleStep) {
    const f64 made = f64{1} * fine_result(segments.data(), code) / kFineUnit;
    error = std::max(error, std::abs(f.bounded(made) - f.bounded(y[k])));
  }
  return error;
}

// A grid over `reach`; its scale may be no number.
FineTable grid_over(const Reach& reach, f64 segments) {
  FineTable table;
  table.scale = static_cast<f32>((reach.high - reach.low) / (segments * kFineStep));
  if (!std::isnormal(table.scale)) return table;
  const f64 zero = std::nearbyint(-reach.low / f64{table.scale});
  table.zero_point = static_cast<s32>(std::clamp(zero, 0.0, kFineCodes - 1.0));
  return table;
}

// The largest error where sums leave the grid, which gives its ends for them.
f64 error_beyond(const Function& f, const Samples& samples, const FineTable& table) {
  const s32* lines = table.segments.as<s32>().data();
  const auto end = [&](s32 code) {
    return f.bounded(f64{1} * fine_result(lines, code) / kFineUnit);
  };
  const auto real = [&](s32 code) { return f64{table.scale} * (code - table.zero_point); };
  const f64 first = end(0), last = end(kFineCodes - 1), low = real(0), high = real(kFineCodes - 1);
  f64 error = 0;
  for (size_t i = 0; i < samples.x.size(); ++i) {
    if (samples.x[i] <= low) error = std::max(error, std::abs(first - samples.y[i]));
    if (samples.x[i] >= high) error = std::max(error, std::abs(last - samples.y[i]));
  }
  return error;
}

// The table of a grid, segment after segment.
struct Fitting {
  const Function& f;
  FineTable table;
  s32 worst = 0;  // the segment with the largest error

  Fitting(const Function& function, FineTable grid) : f(function), table(std::move(grid)) {
    table.segments = Tensor(Dtype::s32, Shape{kFineSegments});
  }

  void fit(s32 segment) {
    std::array<f64, kSamples + 1> x;
    for (size_t k = 0; k < x.size(); ++k) {
      const s32 code = segment * kFineStep + static_cast<s32>(k) * kSampleStep;
      x[k] = f64{table.scale} * (code - table.zero_point);
    }
    const std::vector<f64> y = f.at(x);
    const std::span<s32> lines = table.segments.mutable_as<s32>();
    lines[static_cast<size_t>(segment)] = line_of(f, y);
    const f64 error = error_of(f, lines, segment * kFineStep, y);
    if (error > table.error) worst = segment;
    table.error = std::max(table.error, error);
  }
};

// Takes the grid's table in place of the best so far where its error is less. The ends come first, which tell the error beyond the grid, then
// the segments from where the best is worst on: most tables end there.
void take_nearer(const Function& f, const Samples& samples, FineTable grid,
                 std::optional<Fitting>& best) {
  if (!std::isnormal(grid.scale)) return;  // a result of tiny or huge numbers
  const f64 limit = best ? best->table.error : std::numeric_limits<f64>::infinity();
  Fitting fitting(f, std::move(grid));
  fitting.fit(0);
  fitting.fit(kFineSegments - 1);
  fitting.table.error = std::max(fitting.table.error, error_beyond(f, samples, fitting.table));
  const s32 first = best ? best->worst : 0;
  for (s32 i = 0; i < kFineSegments && fitting.table.error < limit; ++i)
    fitting.fit((first + i) % kFineSegments);
  if (fitting.table.error < limit) best.emplace(std::move(fitting));
}

// The largest error on the grid, by eight times as many samples as tables were chosen by.
f64 error_within(const Function& f, const FineTable& table) {
  constexpr s32 kStep = kSampleStep / 8;
  std::vector<f64> x;
  for (s32 code = 0; code < kFineCodes; code += kStep)
    x.push_back(f64{table.scale} * (code - table.zero_point));
  const std::vector<f64> y = f.at(x);
  const s32* lines = table.segments.as<s32>().data();
  f64 error = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const f64 made = f64{1} * fine_result(lines, static_cast<s32>(i) * kStep) / kFineUnit;
    error = std::max(error, std::abs(f.bounded(made) - f.bounded(y[i])));
  }
  return error;
}

FineTable refused(std::string why) {
  FineTable table;
  table.reject = std::move(why);
  return table;
}

}  // namespace

FineTable fine_table(const Node& function, const Activation& before, const FineOutput& output) {
  const Function f(function, before, output);
  Samples samples{far_and_near(), {}};
  samples.y = f.at(samples.x);
  if (std::ranges::any_of(samples.y, [](f64 y) { return std::isnan(y); }))
    return refused("it is no number everywhere");
  for (f64& y : samples.y) y = f.bounded(y);
  std::optional<Fitting> best;
  for (const f64 tail : kTails) {
    const std::optional<Reach> reach = reach_of(f, samples, tail);
    if (!reach) continue;
    for (f64 segments = kFineSegments; segments >= kFewestSegments; segments -= kSegmentStep)
      take_nearer(f, samples, grid_over(*reach, segments), best);
  }
  if (!best) return refused("its codes are one and the same everywhere");
  FineTable table = std::move(best->table);
  table.error = std::max(table.error, error_within(f, table));
  if (table.error > kMostFineError)
    return refused(
        fmt::format("64 lines miss it by up to {:.2f} codes of its result", table.error));
  return table;
}

}  // namespace octet
