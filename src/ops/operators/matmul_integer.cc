// SPDX-License-Identifier: Apache-2.0
// MatMulInteger: the s32 accumulators of a product of codes. Inputs a, b, zero points of a (rows) and of b (columns).
#include "core/check.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/quantized/integer_inputs.h"
#include "ops/quantized/integer_weights.h"
#include "ops/shared/matmul.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_integer_product(parser, "QMatMul"); }

void infer(Inference& inference) {
  const MatMulGeometry geometry =
      matmul_geometry(inference.inputs[0].shape, inference.inputs[1].shape);
  check_operand(inference, 0, 2, geometry.m);
  check_operand(inference, 1, 3, geometry.n);
  inference.output(Dtype::s32, geometry.output);
}

void eval(const Eval& eval) {
  const MatMulGeometry geometry = matmul_geometry(eval.inputs[0].shape, eval.inputs[1].shape);
  const auto a = centered_operand(eval, 0, 2, geometry.k);
  const auto b = centered_operand(eval, 1, 3, 1);
  const auto y = eval.outputs[0].as<s32>();
  multiply(geometry, a.data(), b.data(),
           [&](s64 index, s64, s64 acc) { y[static_cast<size_t>(index)] = wrapped(acc); });
}

}  // namespace

extern constinit const OpDef kMatMulInteger = open_product<matrix_product_macs>(
    {.name = "MatMulInteger", .inputs = {2, 4}, .parse = parse, .infer = infer, .eval = eval});
}  // namespace octet
