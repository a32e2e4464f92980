// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/strided.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

// Drops axes of size 1 and joins neighbours that are one walk, so that the inner loop is as long as it can be.
StridedView merge_axes(const StridedView& view) {
  StridedView merged{.shape = {}, .strides = {}, .offset = view.offset};
  for (int i = 0; i < view.shape.rank(); ++i) {
    const s64 dim = view.shape[i];
    const s64 stride = view.strides[static_cast<size_t>(i)];
    if (dim == 1) continue;
    const int last = merged.shape.rank() - 1;
    if (last >= 0 && merged.strides.back() == stride * dim) {
      merged.shape[last] *= dim;
      merged.strides.back() = stride;
    } else {
      merged.shape.push_back(dim);
      merged.strides.push_back(stride);
    }
  }
  return merged;
}

template <class T>
void copy_rows(const StridedView& view, const T* src, T* dst) {
  const int rank = view.shape.rank();
  const s64 length = rank == 0 ? 1 : view.shape[rank - 1];
  const s64 step = rank == 0 ? 1 : view.strides.back();
  const s64 rows = view.shape.elements() / length;
  std::array<s64, Shape::kMaxRank> index{};
  s64 offset = view.offset;
  for (s64 row = 0; row < rows; ++row, dst += length) {
    if (step == 1) {
      std::memcpy(dst, src + offset, static_cast<size_t>(length) * sizeof(T));
    } else {
      for (s64 i = 0; i < length; ++i) dst[i] = src[offset + i * step];
    }
    for (int d = rank - 2; d >= 0; --d) {
      const s64 stride = view.strides[static_cast<size_t>(d)];
      s64& at = index[static_cast<size_t>(d)];
      offset += stride;
      if (++at < view.shape[d]) break;
      offset -= stride * at;
      at = 0;
    }
  }
}

s64 padded_dim(const Shape& shape, int i, int rank) {
  const int own = i - (rank - shape.rank());
  return own < 0 ? 1 : shape[own];
}

}  // namespace

void strided_copy(const StridedView& view, Dtype dtype, const void* src, void* dst) {
  if (view.shape.elements() == 0) return;
  const StridedView merged = merge_axes(view);
  visit_size(dtype, [&]<class T>() {
    copy_rows(merged, static_cast<const T*>(src), static_cast<T*>(dst));
  });
}

void eval_copy(const Eval& eval) {
  const TensorType type{eval.outputs[0].dtype, eval.outputs[0].shape};
  const auto bytes = static_cast<size_t>(type.bytes());
  if (bytes > 0) std::memcpy(eval.outputs[0].data, eval.inputs[0].data, bytes);
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    const s64 da = padded_dim(a, i, rank);
    const s64 db = padded_dim(b, i, rank);
    if (da != db && da != 1 && db != 1) {
      fail(Error::Code::invalid_model, "shapes {} and {} do not broadcast: {} against {}",
           to_string(a), to_string(b), da, db);
    }
    shape.push_back(da == 1 ? db : da);
  }
  return shape;
}

BroadcastRows::BroadcastRows(const Shape& output, std::span<const Shape> inputs) {
  OCTET_CHECK(inputs.size() <= steps_.size());
  count_ = output.elements();
  if (count_ == 0) return;
  const int rank = output.rank();
  Shape dims;
  for (int i = 0; i < rank; ++i) {
    if (output[i] == 1) continue;
    std::array<s64, 3> strides{};
    for (size_t n = 0; n < inputs.size(); ++n) {
      const int own = i - (rank - inputs[n].rank());
      const bool repeats = own < 0 || inputs[n][own] == 1;
      strides[n] = repeats ? 0 : dims_product(inputs[n], own + 1, inputs[n].rank());
    }
    bool joins = dims.rank() > 0;
    for (size_t n = 0; n < inputs.size() && joins; ++n) {
      joins = strides_[n].back() == strides[n] * output[i];
    }
    if (joins) {
      dims[dims.rank() - 1] *= output[i];
    } else {
      dims.push_back(output[i]);
    }
    for (size_t n = 0; n < inputs.size(); ++n) {
      if (!joins) strides_[n].push_back(0);
      strides_[n].back() = strides[n];
    }
  }
  if (dims.rank() == 0) return;
  length_ = dims[dims.rank() - 1];
  count_ /= length_;
  for (size_t n = 0; n < inputs.size(); ++n) steps_[n] = strides_[n].back();
  outer_ = Shape(dims.dims().first(static_cast<size_t>(dims.rank() - 1)));
}

void BroadcastRows::advance(std::array<s64, Shape::kMaxRank>& index, Offsets& offsets) const {
  for (int d = outer_.rank() - 1; d >= 0; --d) {
    const auto axis = static_cast<size_t>(d);
    const bool wraps = ++index[axis] == outer_[d];
    for (size_t n = 0; n < strides_.size(); ++n) {
      if (strides_[n].empty()) continue;
      const s64 back = wraps ? index[axis] - 1 : 0;
      offsets[n] += wraps ? -strides_[n][axis] * back : strides_[n][axis];
    }
    if (!wraps) return;
    index[axis] = 0;
  }
}

}  // namespace octet
