// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/matmul_views.h"

#include "core/check.h"
#include "ops/attributes/products.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

// Axis i of the permuted value is axis perm[i] of the stored one.
template <auto kPerm>
std::vector<int> permutation(const Node& node, int rank) {
  std::vector<s64> perm;
  for (int i = 0; i < rank; ++i) perm.push_back(i);
  perm = attribute_of<kPerm>(node).value_or(perm);
  if (perm.size() != static_cast<size_t>(rank)) {
    fail(Error::Code::invalid_model, "attribute '{}' has {} axes, the value has rank {}",
         attribute_name<kPerm>(), perm.size(), rank);
  }
  return normalize_axes(perm, rank);
}

StridedView dense(const Shape& shape) {
  StridedView view{shape, std::vector<s64>(static_cast<size_t>(shape.rank())), 0};
  u64 stride = 1;  // wraps only where another dimension is 0
  for (size_t i = view.strides.size(); i-- > 0;) {
    view.strides[i] = static_cast<s64>(stride);
    stride *= static_cast<u64>(shape[static_cast<int>(i)]);
  }
  return view;
}

// A stored value under a permutation.
struct View {
  Shape shape;
  std::vector<s64> strides;

  View(const StridedView& stored, const std::vector<int>& perm) {
    for (int axis : perm) {
      shape.push_back(stored.shape[axis]);
      strides.push_back(stored.strides[static_cast<size_t>(axis)]);
    }
  }

  int rank() const { return shape.rank(); }
  // Of the axis `from_end` before the last; `otherwise` where there is none.
  s64 stride(int from_end, s64 otherwise) const {
    const int axis = rank() - 1 - from_end;
    return axis < 0 ? otherwise : strides[static_cast<size_t>(axis)];
  }
  // Of `count` leading dimensions, right-aligned with the matrices' own; 0 where broadcast.
  std::vector<s64> batch(int count) const {
    std::vector<s64> result(static_cast<size_t>(count), 0);
    const int own = rank() - 2;
    const auto missing = static_cast<size_t>(count - own);
    for (int i = 0; i < own; ++i) {
      if (shape[i] == 1) continue;
      result[missing + static_cast<size_t>(i)] = strides[static_cast<size_t>(i)];
    }
    return result;
  }
};

// The product's axes as they lie in y.
View result_view(const Shape& product, const std::vector<int>& perm, Shape& output) {
  std::vector<int> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    output.push_back(product[perm[i]]);
    inverse[static_cast<size_t>(perm[i])] = static_cast<int>(i);
  }
  return View(dense(output), inverse);
}

}  // namespace

s64 MatMulViews::first(const std::vector<s64>& strides, s64 batch) const {
  s64 offset = 0;
  for (int axis = geometry.batch.rank() - 1; axis >= 0; --axis) {
    offset += batch % geometry.batch[axis] * strides[static_cast<size_t>(axis)];
    batch /= geometry.batch[axis];
  }
  return offset;
}

bool has_permutation(const Node& node) {
  const auto attributes = attributes_of<MatMulAttributes>(node);
  return attributes.perm_a || attributes.perm_b || attributes.perm_y;
}

MatMulViews matmul_views(const Node& node, const Shape& a, const Shape& b) {
  return matmul_views(node, dense(a), dense(b));
}

MatMulViews matmul_views(const Node& node, const StridedView& a, const StridedView& b) {
  const View left(a, permutation<&MatMulAttributes::perm_a>(node, a.shape.rank()));
  const View right(b, permutation<&MatMulAttributes::perm_b>(node, b.shape.rank()));
  MatMulViews views;
  views.geometry = matmul_geometry(left.shape, right.shape);
  const MatMulGeometry& g = views.geometry;
  const View result = result_view(
      g.output, permutation<&MatMulAttributes::perm_y>(node, g.output.rank()), views.output);
  const int count = g.batch.rank();
  views.a_row = left.stride(1, g.k);
  views.a_k = left.stride(0, 1);
  views.b_k = right.rank() > 1 ? right.stride(1, 1) : right.stride(0, 1);
  views.b_n = right.rank() > 1 ? right.stride(0, 1) : 1;
  views.a_batch = left.batch(count);
  views.b_batch = right.batch(count);
  const bool has_n = right.rank() > 1, has_m = left.rank() > 1;
  views.y_n = has_n ? result.stride(0, 1) : 1;
  views.y_row = has_m ? result.stride(has_n ? 1 : 0, g.n) : g.n;
  views.y_batch.assign(result.strides.begin(), result.strides.begin() + count);
  return views;
}

}  // namespace octet
