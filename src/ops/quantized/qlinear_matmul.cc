// SPDX-License-Identifier: Apache-2.0
// QLinearMatMul; read as QMatMul where it can be.
#include "ops/quantized/forms_of_codes.h"
#include "ops/quantized/integer_inputs.h"
#include "ops/quantized/qlinear.h"
#include "ops/shared/matmul.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_qlinear(parser, "QMatMul"); }

void infer(Inference& inference) {
  const MatMulGeometry geometry =
      matmul_geometry(inference.inputs[kQlX].shape, inference.inputs[kQlWeights].shape);
  infer_qlinear(inference, geometry.output, geometry.n);
}

void eval(const Eval& eval) {
  const MatMulGeometry geometry =
      matmul_geometry(eval.inputs[kQlX].shape, eval.inputs[kQlWeights].shape);
  const auto a = centered_operand(eval, kQlX, kQlXZeroPoint, 1);
  const auto b = centered_operand(eval, kQlWeights, kQlWeightZeroPoint, 1);
  const QLinearEpilogue epilogue(eval);
  multiply(geometry, a.data(), b.data(),
           [&](s64 index, s64 column, s64 acc) { epilogue.store(index, column, wrapped(acc)); });
}

}  // namespace

extern constinit const OpDef kQLinearMatMul = open_product<matrix_product_macs>(
    {.name = "QLinearMatMul", .inputs = {8, 8}, .parse = parse, .infer = infer, .eval = eval});
}  // namespace octet
