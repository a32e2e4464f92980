// SPDX-License-Identifier: Apache-2.0
// Gather and GatherElements of linear tensors of any type, by indices of a run or by many constant ones. A run's index may lie outside of
// its axis: kernels put any element in its place, and the step ends with the definition's error when all threads are done.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "backends/host/queue.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_of.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/element_offsets.h"
#include "ops/shared/indexing.h"
#include "plan/offer.h"

namespace octet {
namespace {

constexpr s64 kSerial = 32768;      // fewer bytes cost less than waking a thread
constexpr s64 kMostRows = 1 << 20;  // whose places a plan remembers

// One of the two inputs, from the run or constant.
const std::byte* bytes_of(const StepArgs& step, const Tensor& constant, size_t i) {
  return constant ? constant.data() : step.inputs[i];
}

struct Axis {
  s64 dim = 1;    // of the data
  s64 count = 1;  // indices of a line
  int number = 0;
};

// Item i as a line and a place in it, and those after it: dividing for each would take longer than what is done with it.
struct Line {
  s64 number, at, count;

  Line(s64 i, s64 n) : number(i / n), at(i % n), count(n) {}
  void next() {
    if (++at < count) return;
    at = 0;
    ++number;
  }
};

// Index i as a place on the axis, any where it lies outside.
template <class I>
s64 place(const I* indices, s64 i, const Axis& axis, bool& outside) {
  const s64 index = s64{indices[i]} + (indices[i] < 0 ? axis.dim : 0);
  if (static_cast<u64>(index) < static_cast<u64>(axis.dim)) return index;
  outside = true;
  return 0;
}

template <class I>
void refuse_outside(const I* indices, s64 count, const Axis& axis) {
  for (s64 i = 0; i < count; ++i) checked_index(s64{indices[i]}, axis.dim, axis.number);
}

struct GatherRows {
  Tensor data, indices;  // empty where a run brings them
  Axis axis;
  s64 outer = 1;
  s64 bytes = 1;  // of what one index picks

  template <class T, class I>
  void copy(const StepArgs& step) const {
    const std::byte* src = bytes_of(step, data, 0);
    const I* at = reinterpret_cast<const I*>(bytes_of(step, indices, 1));
    std::atomic<bool> outside{false};
    const auto body = [&](s64 begin, s64 end, int) {
      bool own = false;
      Line line(begin, axis.count);
      for (s64 i = begin; i < end; ++i, line.next()) {
        const s64 from = line.number * axis.dim + place(at, line.at, axis, own);
        if constexpr (std::is_same_v<T, std::byte>) {
          std::memcpy(step.outputs[0] + i * bytes, src + from * bytes, static_cast<size_t>(bytes));
        } else {
          reinterpret_cast<T*>(step.outputs[0])[i] = reinterpret_cast<const T*>(src)[from];
        }
      }
      if (own) outside = true;
    };
    const s64 items = outer * axis.count;
    items* bytes < kSerial ? body(0, items, 0) : pool_of(step).parallel_for(items, body);
    if (outside) refuse_outside(at, axis.count, axis);
  }

  template <class I>
  void run(const StepArgs& step) const {
    if (bytes == 1) return copy<u8, I>(step);
    if (bytes == 4) return copy<u32, I>(step);
    copy<std::byte, I>(step);
  }
};

// Lines of indices along the axis: line o reads the data from rows[o] on.
struct GatherElements {
  Tensor data, indices;
  Axis axis;
  Dtype dtype = Dtype::f32;
  s64 inner = 1;                // of the indices, behind the axis
  s64 stride = 1;               // of the data, along the axis
  std::vector<s64> rows;        // for each index of the axes before it
  std::vector<s64> inner_rows;  // for each behind it, where the data have more of those; else empty

  // Items [begin, end) of rows and indices along the axis, each of `inner` elements. False where an index lies outside.
  template <class T, class I>
  bool copy_items(const T* src, const I* at, T* dst, s64 begin, s64 end) const noexcept {
    bool outside = false;
    for (s64 item = begin; item < end;) {
      const s64 number = item / axis.count;
      const T* row = src + rows[static_cast<size_t>(number)];
      const s64 last = std::min(end, (number + 1) * axis.count);
      if (stride == 1) {
        for (; item < last; ++item) dst[item] = row[place(at, item, axis, outside)];
        continue;
      }
      for (; item < last; ++item) {
        for (s64 i = 0; i < inner; ++i) {
          const s64 beside = inner_rows.empty() ? i : inner_rows[static_cast<size_t>(i)];
          dst[item * inner + i] = row[place(at, item * inner + i, axis, outside) * stride + beside];
        }
      }
    }
    return !outside;
  }

  template <class T, class I>
  void copy(const StepArgs& step) const {
    const T* src = reinterpret_cast<const T*>(bytes_of(step, data, 0));
    const I* at = reinterpret_cast<const I*>(bytes_of(step, indices, 1));
    T* dst = reinterpret_cast<T*>(step.outputs[0]);
    std::atomic<bool> outside{false};
    const auto body = [&](s64 begin, s64 end, int) {
      if (!copy_items(src, at, dst, begin, end)) outside = true;
    };
    const s64 items = std::ssize(rows) * axis.count, elements = items * inner;
    const bool few = elements * static_cast<s64>(sizeof(T)) < kSerial;
    few ? body(0, items, 0) : pool_of(step).parallel_for(items, body);
    if (outside) refuse_outside(at, elements, axis);
  }

  template <class I>
  void run(const StepArgs& step) const {
    visit_size(dtype, [&]<class T>() { copy<T, I>(step); });
  }
};

// Offsets of all index tuples of the axes [first, last) of `shape`, in memory of these strides.
std::vector<s64> offsets_of(const Shape& shape, const std::vector<s64>& strides, int first,
                            int last) {
  std::vector<s64> offsets = {0};
  for (int d = first; d < last; ++d) {
    std::vector<s64> next;
    for (const s64 offset : offsets) {
      for (s64 i = 0; i < shape[d]; ++i)
        next.push_back(offset + i * strides[static_cast<size_t>(d)]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

// Why the inputs are none for these kernels; else empty.
std::string reject(const LowerRequest& request) {
  const Dtype indices = request.inputs[1].dtype;
  if (indices != Dtype::s64 && indices != Dtype::s32) return "the indices are neither s64 nor s32";
  if (request.inputs[0].shape.elements() == 0 || request.outputs[0].shape.elements() == 0)
    return "there is nothing to gather";
  return {};
}

template <class Step>
Candidate candidate_for(const LowerRequest& request, const char* kernel, Step step) {
  if (const Tensor* data = request.constant(0)) step.data = *data;
  if (const Tensor* indices = request.constant(1)) step.indices = *indices;
  Candidate candidate;
  candidate.kernel = kernel;
  candidate.inputs.assign(2, Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = request.constants();
  const bool wide = request.inputs[1].dtype == Dtype::s64;
  candidate.bind = [shared = std::make_shared<const Step>(std::move(step)),
                    wide](const BindArgs&) -> RunStep {
    return [shared, wide](const StepArgs& args) {
      wide ? shared->template run<s64>(args) : shared->template run<s32>(args);
    };
  };
  return candidate;
}

}  // namespace

Offer lower_gather_rows(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const Shape& input = request.inputs[0].shape;
  const int axis = axis_of(request.node, input.rank());
  GatherRows step;
  step.axis = {input[axis], request.inputs[1].shape.elements(), axis};
  step.outer = dims_product(input, 0, axis);
  step.bytes = dims_product(input, axis + 1, input.rank()) *
               static_cast<s64>(dtype_bytes(request.inputs[0].dtype));
  return candidate_for(request, "gather_rows", std::move(step));
}

Offer lower_gather_elements(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const Shape &input = request.inputs[0].shape, &indices = request.inputs[1].shape;
  const int rank = input.rank(), axis = axis_of(request.node, rank);
  GatherElements step;
  step.axis = {input[axis], indices[axis], axis};
  step.dtype = request.inputs[0].dtype;
  step.inner = dims_product(indices, axis + 1, rank);
  step.stride = dims_product(input, axis + 1, rank);
  if (dims_product(indices, 0, axis) > kMostRows || step.inner > kMostRows)
    return Reject{"there are more than 2^20 lines"};
  const std::vector<s64> strides = dense_strides(input);
  step.rows = offsets_of(indices, strides, 0, axis);
  if (step.inner != step.stride) step.inner_rows = offsets_of(indices, strides, axis + 1, rank);
  return candidate_for(request, "gather_elements", std::move(step));
}

}  // namespace octet
