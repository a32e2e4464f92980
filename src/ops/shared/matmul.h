// SPDX-License-Identifier: Apache-2.0
// Geometry of MatMul and QMatMul: numpy's rules for vectors and broadcast batches.
#pragma once

#include <vector>

#include "core/types.h"
#include "octet/tensor.h"
#include "ops/shared/dot.h"

namespace octet {

// batches() times [m, k] x [k, n].
struct MatMulGeometry {
  s64 m = 1;
  s64 k = 1;
  s64 n = 1;
  Shape batch;                 // leading dimensions of the output
  Shape output;                // without m or n where that operand is a vector
  std::vector<s64> a_strides;  // in matrices, for each dimension of `batch`; 0 where broadcast
  std::vector<s64> b_strides;

  s64 batches() const { return batch.elements(); }
  // Which matrix of each operand batch `i` of the output multiplies.
  s64 a_matrix(s64 i) const { return matrix(a_strides, i); }
  s64 b_matrix(s64 i) const { return matrix(b_strides, i); }

 private:
  s64 matrix(const std::vector<s64>& strides, s64 i) const;
};

// Throws Error(invalid_model) naming both shapes when they do not fit.
MatMulGeometry matmul_geometry(const Shape& a, const Shape& b);

// dst[c][r] = src[r][c]
template <class T>
void transpose(const T* src, s64 rows, s64 columns, T* dst) {
  for (s64 r = 0; r < rows; ++r) {
    for (s64 c = 0; c < columns; ++c) dst[c * rows + r] = src[r * columns + c];
  }
}

// Every output as one dot product: store(index in the output, column, sum).
template <class T, class Store>
void multiply(const MatMulGeometry& geometry, const T* a, const T* b, const Store& store) {
  if (geometry.output.elements() == 0) return;
  const s64 k = geometry.k;
  std::vector<T> columns(static_cast<size_t>(k * geometry.n));
  s64 index = 0;
  for (s64 batch = 0, transposed = -1; batch < geometry.batches(); ++batch) {
    const T* rows = a + geometry.a_matrix(batch) * geometry.m * k;
    if (const s64 wanted = geometry.b_matrix(batch); wanted != transposed) {
      transpose(b + wanted * k * geometry.n, k, geometry.n, columns.data());
      transposed = wanted;
    }
    for (s64 row = 0; row < geometry.m; ++row) {
      for (s64 column = 0; column < geometry.n; ++column, ++index) {
        store(index, column, dot(rows + row * k, columns.data() + column * k, k));
      }
    }
  }
}

}  // namespace octet
