// SPDX-License-Identifier: Apache-2.0
// The largest and the smallest of f32 values over neighbouring axes, or over the pixels or the channels of an nhwc image, and the index of it
// along one axis. Plain loops over neighbours, which the compiler makes vectors of.
#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"
#include "ops/attributes/reduction.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr s64 kSerial = 16384;
constexpr s64 kBlock = 256;  // columns whose extremes stay in the first cache
constexpr s64 kLanes = 16;

// Element i of line (o, j) lies at o * outer_stride + i * step + j; results are dense.
struct Lines {
  s64 outer, count, inner;
  s64 outer_stride, step;
};

// The definition's choice: a NaN stays, and of equal ones the later is taken (zeros have signs).
template <bool kLargest>
f32 extreme(f32 so_far, f32 x) noexcept {
  const bool keeps = (kLargest ? so_far > x : so_far < x) || so_far != so_far;
  return keeps ? so_far : x;
}

template <bool kLargest>
f32 extreme_in_order(const f32* row, s64 count) noexcept {
  f32 result = row[0];
  for (s64 i = 1; i < count; ++i) result = extreme<kLargest>(result, row[i]);
  return result;
}

// Equal to that of all, but for the sign of zeros and the bits of NaN.
template <bool kLargest>
f32 extreme_of_lanes(const f32* row, s64 count) noexcept {
  if (count < kLanes) return extreme_in_order<kLargest>(row, count);
  f32 lanes[kLanes];
  std::copy_n(row, kLanes, lanes);
  for (s64 i = kLanes; i < count; i += kLanes) {
    const f32* next = row + std::min(i, count - kLanes);  // some of the last are seen twice
    for (s64 lane = 0; lane < kLanes; ++lane)
      lanes[lane] = extreme<kLargest>(lanes[lane], next[lane]);
  }
  return extreme_in_order<kLargest>(lanes, kLanes);
}

// Of the elements that equal `value`, or are NaN as it is, the first or the last.
s64 index_of(const f32* row, s64 count, f32 value, bool last) noexcept {
  const bool nan = value != value;
  const auto is_it = [&](s64 i) { return nan ? row[i] != row[i] : row[i] == value; };
  if (last) {
    for (s64 i = count - 1; i > 0; --i) {
      if (is_it(i)) return i;
    }
    return 0;
  }
  s64 i = 0;
  while (i < count - 1 && !is_it(i)) ++i;
  return i;
}

// All results: `step` makes that of a line of neighbours, or those of lines that lie side by side.
template <class Step, class Result>
void for_lines(const Step& step, const StepArgs& args, Result* dst) noexcept {
  const Lines& lines = step.lines;
  const f32* src = f32_input(args, 0);
  const s64 blocks = (lines.inner + kBlock - 1) / kBlock;
  const auto body = [&](s64 begin, s64 end, int) {
    for (s64 item = begin; item < end; ++item) {
      const s64 o = item / blocks, first = item % blocks * kBlock;
      const f32* line = src + o * lines.outer_stride + first;
      Result* to = dst + o * lines.inner + first;
      if (lines.step == 1)
        *to = step.of_row(line);
      else
        step.columns(line, std::min(kBlock, lines.inner - first), to);
    }
  };
  const s64 items = lines.outer * blocks;
  if (lines.outer * lines.count * lines.inner < kSerial) return body(0, items, 0);
  pool_of(args).parallel_for(items, body);
}

template <bool kLargest>
struct ExtremeStep {
  Lines lines;

  f32 of_row(const f32* row) const noexcept {
    const f32 value = extreme_of_lanes<kLargest>(row, lines.count);
    const bool nan = value != value;
    return nan || value == 0.0f ? row[index_of(row, lines.count, value, !nan)] : value;
  }

  void columns(const f32* src, s64 width, f32* dst) const noexcept {
    std::copy_n(src, width, dst);
    for (s64 i = 1; i < lines.count; ++i) {
      const f32* next = src + i * lines.step;
      for (s64 j = 0; j < width; ++j) dst[j] = extreme<kLargest>(dst[j], next[j]);
    }
  }

  void operator()(const StepArgs& args) const noexcept {
    for_lines(*this, args, f32_output(args, 0));
  }
};

template <bool kLargest, bool kLast>
struct ArgExtremeStep {
  Lines lines;

  static bool takes(f32 so_far, f32 x) noexcept {
    if (kLast) return (kLargest ? x >= so_far : x <= so_far) | (x != x);
    return (kLargest ? x > so_far : x < so_far) | ((x != x) & (so_far == so_far));
  }

  s64 of_row(const f32* row) const noexcept {
    return index_of(row, lines.count, extreme_of_lanes<kLargest>(row, lines.count), kLast);
  }

  void columns(const f32* src, s64 width, s64* dst) const noexcept {
    f32 values[kBlock];
    s32 at[kBlock] = {};
    std::copy_n(src, width, values);
    for (s64 i = 1; i < lines.count; ++i) {
      const f32* next = src + i * lines.step;
      for (s64 j = 0; j < width; ++j) {
        const bool taken = takes(values[j], next[j]);
        values[j] = taken ? next[j] : values[j];
        at[j] = taken ? static_cast<s32>(i) : at[j];
      }
    }
    std::copy_n(at, width, dst);
  }

  void operator()(const StepArgs& args) const noexcept {
    for_lines(*this, args, reinterpret_cast<s64*>(args.outputs[0]));
  }
};

// The lines of axes [first, last) of a linear tensor.
Lines linear_lines(const Shape& shape, int first, int last) {
  Lines lines{dims_product(shape, 0, first), dims_product(shape, first, last),
              dims_product(shape, last, shape.rank()), 0, 0};
  lines.step = lines.inner;
  lines.outer_stride = lines.count * lines.inner;
  return lines;
}

enum class Axes { neighbours, pixels, channels };

// How the axes are walked; empty text: they can be.
struct Way {
  Axes axes = Axes::neighbours;
  int first = 0, last = 0;
  std::string reject = {};
};

Way way_of(const LowerRequest& request, std::vector<int> axes) {
  std::ranges::sort(axes);
  Way way{.first = axes.front(), .last = axes.back() + 1};
  if (request.layouts[0] == Layout::nhwc) {
    if (axes == std::vector<int>{2, 3}) way.axes = Axes::pixels;
    if (axes == std::vector<int>{1}) way.axes = Axes::channels;
  }
  const auto count = static_cast<int>(axes.size());
  if (way.last - way.first != count) way.reject = "the reduced axes are not neighbours";
  return way;
}

Lines lines_of(const Way& way, const Shape& shape, const Placement& placement) {
  if (way.axes == Axes::neighbours) return linear_lines(shape, way.first, way.last);
  const std::vector<s64> strides = value_strides(shape, placement);
  if (way.axes == Axes::pixels)
    return {shape[0], shape[2] * shape[3], shape[1], strides[0], strides[3]};
  return {shape[0] * shape[2] * shape[3], shape[1], 1, strides[3], 1};
}

template <class Step>
Candidate candidate_of(const LowerRequest& request, const Way& way, const char* kernel) {
  Candidate candidate;
  candidate.kernel = kernel;
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  if (way.axes != Axes::neighbours) candidate.inputs[0] = Layout::nhwc;
  candidate.outputs = {Layout::linear};
  // Of one pixel, or of one channel: the same bytes in both layouts.
  if (way.axes != Axes::neighbours && request.outputs[0].shape.rank() == 4)
    candidate.outputs = {Layout::nhwc};
  candidate.holds = {false, request.has_input(1)};
  candidate.bind = [way, shape = request.inputs[0].shape](const BindArgs& bind) -> RunStep {
    return Step{lines_of(way, shape, bind.inputs[0])};
  };
  return candidate;
}

std::string reject(const LowerRequest& request) {
  if (request.inputs[0].dtype != Dtype::f32) return "the input is not f32";
  if (request.inputs[0].shape.elements() == 0) return "there is nothing to compare";
  if (request.inputs[0].shape.rank() == 0) return "there is one element";
  return {};
}

// The reduced axes; empty: none.
std::vector<int> reduced_axes(const LowerRequest& request) {
  const int rank = request.inputs[0].shape.rank();
  const Tensor* given = request.constant(1);
  std::vector<int> axes;
  if (given != nullptr) axes = normalize_axes(given->as<s64>(), rank);
  if (axes.empty() && !attribute_of<&ReduceAttributes::noop_with_empty_axes>(request.node)) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

}  // namespace

Offer lower_f_extreme(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  if (request.has_input(1) &&
      (request.constant(1) == nullptr || request.constant(1)->dtype() != Dtype::s64)) {
    return Reject{"the axes are not constant"};
  }
  const std::vector<int> axes = reduced_axes(request);
  if (axes.empty()) return Reject{"no axis is reduced"};
  const Way way = way_of(request, axes);
  if (!way.reject.empty()) return Reject{way.reject};
  return request.node.op->name == "ReduceMax"
             ? candidate_of<ExtremeStep<true>>(request, way, "f32_maximum")
             : candidate_of<ExtremeStep<false>>(request, way, "f32_minimum");
}

Offer lower_f_arg_extreme(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const auto attributes = attributes_of<ArgExtremeAttributes>(request.node);
  const Shape& shape = request.inputs[0].shape;
  const Way way = way_of(request, {normalize_axis(attributes.axis, shape.rank())});
  if (shape[way.first] > std::numeric_limits<s32>::max()) return Reject{"the axis is too long"};
  const bool last = attributes.select_last_index;
  if (request.node.op->name == "ArgMax") {
    return last ? candidate_of<ArgExtremeStep<true, true>>(request, way, "f32_arg_maximum")
                : candidate_of<ArgExtremeStep<true, false>>(request, way, "f32_arg_maximum");
  }
  return last ? candidate_of<ArgExtremeStep<false, true>>(request, way, "f32_arg_minimum")
              : candidate_of<ArgExtremeStep<false, false>>(request, way, "f32_arg_minimum");
}

}  // namespace octet
