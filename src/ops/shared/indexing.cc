// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/indexing.h"

#include <cstring>

#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

template <class T>
T combine(ScatterReduction reduction, T old, T update) {
  if constexpr (std::is_same_v<T, bool>) {
    const bool both = reduction == ScatterReduction::mul || reduction == ScatterReduction::min;
    return both ? old && update : old || update;
  } else {
    const auto a = static_cast<Wide<T>>(old);
    const auto b = static_cast<Wide<T>>(update);
    switch (reduction) {
      case ScatterReduction::none:
        return update;
      case ScatterReduction::add:
        return narrow<T>(wrapping_add(a, b));
      case ScatterReduction::mul:
        return narrow<T>(wrapping_mul(a, b));
      case ScatterReduction::max:
        return narrow<T>(larger(a, b));
      case ScatterReduction::min:
        return narrow<T>(smaller(a, b));
    }
    return update;
  }
}

}  // namespace

s64 checked_index(s64 index, s64 dim, int axis) {
  if (index < -dim || index >= dim) {
    fail(Error::Code::invalid_argument, "index {} is outside [{}, {}) of axis {}", index, -dim, dim,
         axis);
  }
  return index < 0 ? index + dim : index;
}

void scatter(ScatterReduction reduction, const ConstView& updates, std::span<const s64> at,
             s64 length, const MutableView& data) {
  if (length == 0) return;
  if (reduction == ScatterReduction::none) {
    const auto bytes = static_cast<s64>(dtype_bytes(data.dtype)) * length;
    const s64 element = static_cast<s64>(dtype_bytes(data.dtype));
    for (size_t i = 0; i < at.size(); ++i) {
      std::memcpy(static_cast<std::byte*>(data.data) + at[i] * element,
                  static_cast<const std::byte*>(updates.data) + static_cast<s64>(i) * bytes,
                  static_cast<size_t>(bytes));
    }
    return;
  }
  visit_dtype(data.dtype, [&]<class T>() {
    T* dst = static_cast<T*>(data.data);
    const T* src = static_cast<const T*>(updates.data);
    for (const s64 offset : at) {
      for (s64 i = 0; i < length; ++i) {
        dst[offset + i] = combine(reduction, dst[offset + i], *src++);
      }
    }
  });
}

std::vector<s64> tuple_offsets(const ConstView& indices, std::span<const s64> values,
                               const Shape& data, int batch_dims) {
  const int last = indices.shape.rank() - 1;
  const s64 width = indices.shape[last];
  const s64 tuples = dims_product(indices.shape, 0, last);
  const s64 batches = dims_product(indices.shape, 0, batch_dims);
  const std::vector<s64> strides = dense_strides(data);
  const s64 batch_stride = dims_product(data, batch_dims, data.rank());
  std::vector<s64> offsets;
  for (s64 i = 0; i < tuples; ++i) {
    s64 offset = i / (tuples / batches) * batch_stride;
    for (s64 k = 0; k < width; ++k) {
      const int axis = batch_dims + static_cast<int>(k);
      const s64 index = values[static_cast<size_t>(i * width + k)];
      offset += checked_index(index, data[axis], axis) * strides[static_cast<size_t>(axis)];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

}  // namespace octet
