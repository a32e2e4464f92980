// SPDX-License-Identifier: Apache-2.0
// Pools of linear tensors: MaxPool of lines and volumes, of reals and codes, and means of codes over the last axes (what global
// pooling of lines and volumes becomes). Plain loops over neighbours, which the compiler makes vectors of.
#include <algorithm>
#include <limits>

#include "backends/cpu/device.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/host/queue.h"
#include "ops/attributes/reduction.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/mean_scales.h"
#include "ops/shared/axes.h"
#include "ops/shared/pool.h"

namespace octet {
namespace {

constexpr s64 kSerial = 16384;

// The definition's maximum: NaN wins, and nothing gives the lowest.
template <class T>
constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::lowest();

template <class T>
T larger_or_nan(T x, T most) noexcept {
  return x > most || x != x ? x : most;  // NOLINT: of integers, never
}

template <class T>
struct LinearMaxPool {
  PoolGeometry geometry;

  s64 thread_bytes() const {
    return (geometry.window.w().in * static_cast<s64>(sizeof(T)) + 63) / 64 * 64;
  }

  // The largest of the rows of a window.
  void rows(const T* plane, s64 z, s64 y, T* line) const noexcept {
    const WindowAxis &d = geometry.window.d(), &h = geometry.window.h(), &w = geometry.window.w();
    const TapRange deep = taps_inside(d, z), high = taps_inside(h, y);
    const s64 height = high.last - high.first;
    std::fill_n(line, w.in, kLowest<T>);
    for (s64 tap = 0; tap < (deep.last - deep.first) * height; ++tap) {
      const s64 from_z = z * d.stride - d.pad_begin + (deep.first + tap / height) * d.dilation;
      const s64 from_y = y * h.stride - h.pad_begin + (high.first + tap % height) * h.dilation;
      const T* src = plane + (from_z * h.in + from_y) * w.in;
      for (s64 x = 0; x < w.in; ++x) line[x] = larger_or_nan(src[x], line[x]);
    }
  }

  // Of these rows' maxima, those of neighbours: tap by tap, for all places where it lies inside.
  void columns(const T* line, T* dst) const noexcept {
    const WindowAxis& w = geometry.window.w();
    std::fill_n(dst, w.out, kLowest<T>);
    for (s64 tap = 0; tap < w.kernel; ++tap) {
      const s64 shift = tap * w.dilation - w.pad_begin;  // from o * stride
      const s64 first = shift >= 0 ? 0 : (-shift + w.stride - 1) / w.stride;
      const s64 inside = w.in - shift;  // o * stride stays below
      const s64 last = inside <= 0 ? 0 : std::min(w.out, (inside + w.stride - 1) / w.stride);
      for (s64 o = first; o < last; ++o) {
        dst[o] = larger_or_nan(line[o * w.stride + shift], dst[o]);
      }
    }
  }

  void operator()(const StepArgs& step) const noexcept {
    const Window& window = geometry.window;
    const s64 high = window.h().out, lines = window.d().out * high;
    const auto body = [&](s64 begin, s64 end, int thread) {
      T* line = reinterpret_cast<T*>(step.workspace + thread * thread_bytes());
      for (s64 item = begin; item < end; ++item) {
        const T* plane =
            reinterpret_cast<const T*>(step.inputs[0]) + item / lines * window.in_elements();
        rows(plane, item % lines / high, item % high, line);
        columns(line, reinterpret_cast<T*>(step.outputs[0]) + item * window.w().out);
      }
    };
    const s64 items = geometry.batch * geometry.channels * lines;
    if (geometry.batch * geometry.channels * window.in_elements() < kSerial)
      return body(0, items, 0);
    pool_of(step).parallel_for(items, body);
  }
};

template <class T>
Candidate max_pool_candidate(const LowerRequest& request, std::string kernel) {
  const LinearMaxPool<T> step{pool_geometry(request.node, request.inputs[0].shape)};
  Candidate candidate;
  candidate.kernel = std::move(kernel);
  candidate.inputs = {Layout::linear};
  candidate.outputs = {Layout::linear};
  candidate.workspace_bytes = step.thread_bytes() * request.target.threads;
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

struct RowMeans {
  s64 rows, count;
  Epilogue epilogue;
  f32 multiplier;

  static s64 sum_of(const u8* row, s64 count) noexcept {
    constexpr s64 kBlock = 1 << 20;  // whose sum fits 32 bits
    s64 sum = 0;
    for (s64 begin = 0; begin < count; begin += kBlock) {
      u32 part = 0;
      for (s64 i = begin; i < std::min(count, begin + kBlock); ++i) part += row[i];
      sum += part;
    }
    return sum;
  }

  void operator()(const StepArgs& step) const noexcept {
    const s64 zeros = count * epilogue.zero_point(0);
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 row = begin; row < end; ++row) {
        const s64 sum = sum_of(u8_input(step, 0) + row * count, count) - zeros;
        u8_output(step, 0)[row] =
            static_cast<u8>(to_code(epilogue, static_cast<f32>(sum) * multiplier));
      }
    };
    if (rows * count < kSerial) return body(0, rows, 0);
    pool_of(step).parallel_for(rows, body);
  }
};

// The last axes alone: how many elements each mean has; 0 where others are reduced.
s64 last_elements(const Node& node, const Shape& shape) {
  const auto given = attribute_of<&QReduceMeanAttributes::axes>(node);
  if (!given) return shape.elements();
  std::vector<int> axes = normalize_axes(*given, shape.rank());
  std::ranges::sort(axes);
  s64 count = 1;
  for (int axis = shape.rank(); !axes.empty(); axes.pop_back()) {
    if (axes.back() != --axis) return 0;
    count *= shape[axis];
  }
  return count;
}

}  // namespace

Offer lower_linear_max_pool(const LowerRequest& request) {
  const TensorType& x = request.inputs[0];
  if (request.outputs.size() > 1) return Reject{"the positions of the maxima are wanted"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  if (x.shape.rank() == 4) return Reject{"images are pooled in nhwc"};
  if (request.outputs[0].shape.elements() == 0) return Reject{"the output is empty"};
  if (x.dtype == Dtype::f32) return max_pool_candidate<f32>(request, "f32_linear_max_pool");
  if (x.dtype == Dtype::u8) return max_pool_candidate<u8>(request, "u8_linear_max_pool");
  return Reject{"the elements are neither f32 nor u8"};
}

Offer lower_q_row_mean(const LowerRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const Epilogue epilogue = epilogue_of(request.node);
  if (request.inputs[0].dtype != Dtype::u8 || epilogue.output_dtype != Dtype::u8)
    return Reject{"the codes are not u8"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  if (request.outputs[0].shape.elements() == 0) return Reject{"the output is empty"};
  const s64 count = last_elements(request.node, shape);
  if (count == 0) return Reject{"the mean is not over the last axes"};
  if (shape.rank() == 4 && count == shape[2] * shape[3] && shape[2] != 1)
    return Reject{"images are averaged in nhwc"};
  const RowMeans step{shape.elements() / count, count, epilogue,
                      mean_scales(request.node).multiplier(count)};
  Candidate candidate;
  candidate.kernel = "u8_row_mean";
  candidate.inputs = {Layout::linear};
  candidate.outputs = {Layout::linear};
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
