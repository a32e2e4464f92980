// SPDX-License-Identifier: Apache-2.0
// QMatMul: docs/numerics.md sections 3 and 4. Inputs a, b, bias, multiplier, residual, table, addend; b may be an
// activation.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/shared/matmul_views.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const TensorType& a = inference.inputs[kProductX];
  const TensorType& b = inference.inputs[kProductWeights];
  const MatMulViews views = matmul_views(inference.node, a.shape, b.shape);
  if (!is_code(a.dtype) || !is_code(b.dtype)) {
    fail(Error::Code::invalid_model, "inputs {} and {}, expected u8 or s8", to_string(a),
         to_string(b));
  }
  infer_product_epilogue(inference, views.output, views.geometry.n);
}

// A matrix that is read through strides, made dense.
struct Matrix {
  s64 rows, columns, row_stride, column_stride;

  std::vector<s16> gather(const std::vector<s16>& codes, s64 first) const {
    std::vector<s16> dense;
    dense.reserve(static_cast<size_t>(rows * columns));
    for (s64 i = 0; i < rows * columns; ++i) {
      const s64 at = first + i / columns * row_stride + i % columns * column_stride;
      dense.push_back(codes[static_cast<size_t>(at)]);
    }
    return dense;
  }
};

// With every operand where it would be without permutations.
void eval_turned(const Eval& eval, const MatMulViews& views) {
  const ProductEpilogue epilogue(eval);
  const auto codes = [&](size_t i) {
    return centered_codes(eval.inputs[i], epilogue.attributes().zero_point(i));
  };
  const MatMulGeometry& g = views.geometry;
  const Matrix a{g.m, g.k, views.a_row, views.a_k}, b{g.k, g.n, views.b_k, views.b_n};
  const auto a_codes = codes(kProductX), b_codes = codes(kProductWeights);
  MatMulGeometry one = g;
  one.batch = Shape{};
  one.a_strides.clear();
  one.b_strides.clear();
  one.output = Shape{g.m, g.n};
  for (s64 batch = 0; batch < g.batches(); ++batch) {
    const auto left = a.gather(a_codes, views.a_first(batch));
    const auto right = b.gather(b_codes, views.b_first(batch));
    multiply(one, left.data(), right.data(), [&](s64 index, s64 column, s64 acc) {
      const s64 at = views.y_first(batch) + index / g.n * views.y_row + column * views.y_n;
      epilogue.store(at, column, acc);
    });
  }
}

void eval(const Eval& eval) {
  const ConstView& a = eval.inputs[kProductX];
  const ConstView& b = eval.inputs[kProductWeights];
  if (has_permutation(eval.node)) {
    const MatMulViews views = matmul_views(eval.node, a.shape, b.shape);
    if (views.output.elements() > 0) eval_turned(eval, views);
    return;
  }
  const ProductEpilogue epilogue(eval);
  const auto a_codes = centered_codes(a, epilogue.attributes().zero_point(kProductX));
  const auto b_codes = centered_codes(b, epilogue.attributes().zero_point(kProductWeights));
  multiply(matmul_geometry(a.shape, b.shape), a_codes.data(), b_codes.data(),
           [&](s64 index, s64 column, s64 acc) { epilogue.store(index, column, acc); });
}

// The largest sum of magnitudes of a column of constant codes.
s64 largest_column(const Node& node, const Tensor& b, const MatMulViews& views) {
  const auto codes = centered_codes(view(b), input_zero_point(node, kProductWeights));
  const MatMulGeometry& g = views.geometry;
  s64 largest = 0;
  for (s64 batch = 0; batch < g.batches(); ++batch) {
    for (s64 column = 0; column < g.n; ++column) {
      const s64 first = views.b_first(batch) + column * views.b_n;
      s64 sum = 0;
      for (s64 i = 0; i < g.k; ++i)
        sum += std::abs(s64{codes[static_cast<size_t>(first + i * views.b_k)]});
      largest = std::max(largest, sum);
    }
  }
  return largest;
}

// A product of two activations has the depth that the run gives it. With a bias, sums are modulo 2^32 by definition.
std::string wide_sums(const Graph& graph, const Node& node) {
  if (node.input(kProductBias) != kNoValue) return {};
  const TensorType& a = graph.value(node.inputs[kProductX]).type;
  const TensorType& b = graph.value(node.inputs[kProductWeights]).type;
  const auto magnitude = [&](size_t i, Dtype dtype) {
    const CodeRange codes = code_range(dtype);
    const s64 zero_point = input_zero_point(node, i);
    return std::max(zero_point - codes.lo, codes.hi - zero_point);
  };
  const MatMulViews views = matmul_views(node, a.shape, b.shape);
  const s64 largest = std::numeric_limits<s32>::max() / magnitude(kProductX, a.dtype);
  if (views.geometry.k <= largest / magnitude(kProductWeights, b.dtype)) return {};
  const Tensor* constant = graph.constant_input(node, kProductWeights);
  if (constant != nullptr && largest_column(node, *constant, views) <= largest) return {};
  return fmt::format("the sum of {} products can pass 32 bits", views.geometry.k);
}

constexpr OpTraits kTraits{.macs = matrix_product_macs,
                           .product_epilogue = true,
                           .codes = CodeMeaning::attributes,
                           .verify = verify_zero_points,
                           .wide_sums = wide_sums};

}  // namespace

extern constinit const OpDef kQMatMul = on_codes("QMatMul", {2, 7}, infer, eval, &kTraits);
}  // namespace octet
