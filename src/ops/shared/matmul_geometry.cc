// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/check.h"
#include "ops/shared/matmul.h"

namespace octet {
namespace {

[[noreturn]] void mismatch(const Shape& a, const Shape& b) {
  fail(Error::Code::invalid_model, "matrices of shapes {} and {} cannot be multiplied",
       to_string(a), to_string(b));
}

// Dimension i of `count` leading dimensions of `shape`, right-aligned; 1 where it has none.
s64 batch_dim(const Shape& shape, int batch_dims, int i, int count) {
  const int own = i - (count - batch_dims);
  return own < 0 ? 1 : shape[own];
}

std::vector<s64> batch_strides(const Shape& shape, int batch_dims, int count) {
  std::vector<s64> strides(static_cast<size_t>(count), 0);
  u64 stride = 1;  // wraps only where another dimension is 0
  for (int i = count - 1; i >= 0; --i) {
    const s64 dim = batch_dim(shape, batch_dims, i, count);
    if (dim != 1) strides[static_cast<size_t>(i)] = static_cast<s64>(stride);
    stride *= static_cast<u64>(std::max<s64>(dim, 1));
  }
  return strides;
}

}  // namespace

s64 MatMulGeometry::matrix(const std::vector<s64>& strides, s64 i) const {
  s64 offset = 0;
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    offset += i % batch[axis] * strides[static_cast<size_t>(axis)];
    i /= batch[axis];
  }
  return offset;
}

MatMulGeometry matmul_geometry(const Shape& a, const Shape& b) {
  if (a.rank() == 0 || b.rank() == 0) mismatch(a, b);
  MatMulGeometry geometry;
  geometry.k = a[a.rank() - 1];
  if (geometry.k != b[std::max(b.rank() - 2, 0)]) mismatch(a, b);
  if (a.rank() > 1) geometry.m = a[a.rank() - 2];
  if (b.rank() > 1) geometry.n = b[b.rank() - 1];
  const int a_batch = std::max(a.rank() - 2, 0);
  const int b_batch = std::max(b.rank() - 2, 0);
  const int count = std::max(a_batch, b_batch);
  for (int i = 0; i < count; ++i) {
    const s64 da = batch_dim(a, a_batch, i, count);
    const s64 db = batch_dim(b, b_batch, i, count);
    if (da != db && da != 1 && db != 1) mismatch(a, b);
    geometry.batch.push_back(da == 1 ? db : da);
  }
  geometry.a_strides = batch_strides(a, a_batch, count);
  geometry.b_strides = batch_strides(b, b_batch, count);
  geometry.output = geometry.batch;
  if (a.rank() > 1) geometry.output.push_back(geometry.m);
  if (b.rank() > 1) geometry.output.push_back(geometry.n);
  return geometry;
}

}  // namespace octet
