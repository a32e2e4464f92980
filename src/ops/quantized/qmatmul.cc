// SPDX-License-Identifier: Apache-2.0
// QMatMul: docs/numerics.md sections 3 and 4. Inputs a, b, bias, multiplier, residual, table, addend; b may be an
// activation.
#include "core/check.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/zero_points.h"
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
    multiply(one, left.data(), right.data(), [&](s64 index, s64 column, s32 acc) {
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
           [&](s64 index, s64 column, s32 acc) { epilogue.store(index, column, acc); });
}

constexpr OpTraits kTraits{.macs = matrix_product_macs,
                           .product_epilogue = true,
                           .codes = CodeMeaning::attributes,
                           .verify = verify_zero_points};

}  // namespace

extern constinit const OpDef kQMatMul{.name = "QMatMul",
                                      .domain = "octet",
                                      .inputs = {2, 7},
                                      .outputs = {1, 1},
                                      .infer = infer,
                                      .eval = eval,
                                      .traits = &kTraits};
}  // namespace octet
