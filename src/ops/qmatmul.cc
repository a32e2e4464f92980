// SPDX-License-Identifier: Apache-2.0
// QMatMul: docs/numerics.md sections 3 and 4. Inputs a, b, bias, multiplier, residual, table, addend; b may be an
// activation.
#include "core/check.h"
#include "ops/epilogue.h"
#include "ops/matmul.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const TensorType& a = inference.inputs[kProductX];
  const TensorType& b = inference.inputs[kProductWeights];
  const MatMulGeometry geometry = matmul_geometry(a.shape, b.shape);
  if (!is_code(a.dtype) || !is_code(b.dtype)) {
    fail(Error::Code::invalid_model, "inputs {} and {}, expected u8 or s8", to_string(a),
         to_string(b));
  }
  infer_product_epilogue(inference, geometry.output, geometry.n);
}

void eval(const Eval& eval) {
  const ConstView& a = eval.inputs[kProductX];
  const ConstView& b = eval.inputs[kProductWeights];
  const ProductEpilogue epilogue(eval);
  const auto a_codes = centered_codes(a, epilogue.attributes().zero_point(kProductX));
  const auto b_codes = centered_codes(b, epilogue.attributes().zero_point(kProductWeights));
  multiply(matmul_geometry(a.shape, b.shape), a_codes.data(), b_codes.data(),
           [&](s64 index, s64 column, s32 acc) { epilogue.store(index, column, acc); });
}

}  // namespace

extern constinit const OpDef kQMatMul{.name = "QMatMul",
                                      .domain = "octet",
                                      .inputs = {2, 7},
                                      .outputs = {1, 1},
                                      .infer = infer,
                                      .eval = eval};
}  // namespace octet
