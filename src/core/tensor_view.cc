// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_view.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/types.h"

namespace octet {
namespace {

Strides dense_strides(const Shape& shape) {
  Strides strides{};
  s64 elements = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = elements;
    elements *= shape[i];
  }
  return strides;
}

bool is_empty(const Shape& shape) { return std::ranges::find(shape, 0) != shape.end(); }

// An axis of a copy, in bytes.
struct Axis {
  s64 size, from, to;
};

// Those that have more than one index.
struct Axes {
  std::array<Axis, Shape::kMaxRank> axis;
  size_t count = 0;

  std::span<const Axis> all() const { return {axis.data(), count}; }
};

Axes axes_of(const TensorView& from, const TensorView& to) {
  const Shape& shape = from.type.shape;
  const s64 bytes = static_cast<s64>(dtype_bytes(from.type.dtype));
  const Strides source = from.strides.value_or(dense_strides(shape));
  const Strides target = to.strides.value_or(dense_strides(shape));
  Axes axes;
  for (size_t i = 0; i < static_cast<size_t>(shape.rank()); ++i) {
    const s64 size = shape[static_cast<int>(i)];
    if (size != 1) axes.axis[axes.count++] = {size, source[i] * bytes, target[i] * bytes};
  }
  return axes;
}

// Elements that lie together on both sides become one; returns the bytes of one.
s64 join_dense_axes(Axes& axes, s64 bytes) {
  while (axes.count > 0 && axes.axis[axes.count - 1].from == bytes &&
         axes.axis[axes.count - 1].to == bytes) {
    bytes *= axes.axis[--axes.count].size;
  }
  return bytes;
}

void copy_axes(std::span<const Axis> axes, const std::byte* from, std::byte* to, size_t bytes) {
  if (axes.empty()) {
    std::memcpy(to, from, bytes);
    return;
  }
  const Axis& axis = axes.front();
  for (s64 i = 0; i < axis.size; ++i) {
    copy_axes(axes.subspan(1), from + i * axis.from, to + i * axis.to, bytes);
  }
}

void check_readable(const TensorView& view) {
  if (view.device != "cpu") {
    fail(Error::Code::invalid_argument, "a view of memory of '{}' cannot be read by the host",
         view.device);
  }
  if (!view.type.shape.is_static()) {
    fail(Error::Code::invalid_argument, "a view of {} has sizes that are not known",
         to_string(view.type));
  }
  if (view.data == nullptr && !is_empty(view.type.shape)) {
    fail(Error::Code::invalid_argument, "a view of {} has no data", to_string(view.type));
  }
}

}  // namespace

TensorView view_of(const Tensor& tensor) { return {tensor.type(), tensor.data(), {}, "cpu"}; }
MutableTensorView view_of(Tensor& tensor) {
  return {tensor.type(), tensor.mutable_data(), {}, "cpu"};
}

void check_element_count(const Shape& shape, size_t elements) {
  if (static_cast<u64>(shape.elements()) == elements) return;
  fail(Error::Code::invalid_argument, "{} elements are given for a view of shape {}", elements,
       to_string(shape));
}

bool is_dense(const TensorView& view) {
  if (!view.strides || is_empty(view.type.shape)) return true;
  const Strides dense = dense_strides(view.type.shape);
  for (int i = 0; i < view.type.shape.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (view.type.shape[i] > 1 && (*view.strides)[at] != dense[at]) return false;
  }
  return true;
}

void check_apart(const TensorView& view) {
  if (!view.strides) return;
  std::array<std::pair<s64, s64>, Shape::kMaxRank> axes;  // stride, size
  size_t count = 0;
  for (int i = 0; i < view.type.shape.rank(); ++i) {
    if (view.type.shape[i] > 1)
      axes[count++] = {std::abs((*view.strides)[static_cast<size_t>(i)]), view.type.shape[i]};
  }
  std::sort(axes.begin(), axes.begin() + count);
  // Each axis must step over everything that those of shorter strides reach.
  s64 reached = 0;
  for (const auto& [stride, size] : std::span(axes).first(count)) {
    if (stride <= reached) {
      fail(Error::Code::invalid_argument, "elements of a view of {} that is written share memory",
           to_string(view.type));
    }
    reached += stride * (size - 1);
  }
}

void copy(const TensorView& from, const MutableTensorView& to) {
  check_readable(from);
  check_readable(to);
  if (!(from.type == to.type)) {
    fail(Error::Code::invalid_argument, "a view of {} cannot be copied into one of {}",
         to_string(from.type), to_string(to.type));
  }
  check_apart(to);
  if (is_empty(from.type.shape)) return;
  Axes axes = axes_of(from, to);
  const s64 bytes = join_dense_axes(axes, static_cast<s64>(dtype_bytes(from.type.dtype)));
  copy_axes(axes.all(), from.data, to.data, static_cast<size_t>(bytes));
}

Tensor to_tensor(const TensorView& from) {
  check_readable(from);
  Tensor tensor(from.type.dtype, from.type.shape);
  copy(from, view_of(tensor));
  return tensor;
}

}  // namespace octet
