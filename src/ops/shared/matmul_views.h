// SPDX-License-Identifier: Apache-2.0
// QMatMul may read its operands and write its result through permutations (attributes perm_a, perm_b, perm_y, each as
// Transpose has it): a' = Transpose(a, perm_a), b' likewise, y = Transpose(a' x b', perm_y). So heads need not be turned.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "ops/shared/matmul.h"
#include "ops/shared/strided.h"

namespace octet {

// Where the elements of a', b' and of the product lie in a, b and y, in elements.
struct MatMulViews {
  MatMulGeometry geometry;  // of a' and b'
  Shape output;             // of y
  s64 a_row = 0, a_k = 0;
  s64 b_k = 0, b_n = 0;
  s64 y_row = 0, y_n = 0;
  std::vector<s64> a_batch, b_batch, y_batch;  // for each dimension of geometry.batch

  s64 a_first(s64 batch) const { return first(a_batch, batch); }
  s64 b_first(s64 batch) const { return first(b_batch, batch); }
  s64 y_first(s64 batch) const { return first(y_batch, batch); }

 private:
  s64 first(const std::vector<s64>& strides, s64 batch) const;
};

// Throws Error(invalid_model) for shapes and permutations that do not fit.
MatMulViews matmul_views(const Node& node, const Shape& a, const Shape& b);
// Of operands that lie as these views of others do; their offsets are left to the caller.
MatMulViews matmul_views(const Node& node, const StridedView& a, const StridedView& b);

bool has_permutation(const Node& node);

}  // namespace octet
