// SPDX-License-Identifier: Apache-2.0
// MatMul with the bias, residual and activation that passes fold into it.
#include "ops/shared/matmul.h"

#include "core/check.h"
#include "graph/op_def.h"
#include "ops/quantized/quantize_product.h"
#include "ops/shared/activation.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/work.h"

namespace octet {

extern const OpDef kQMatMul;

namespace {

enum : size_t { kA, kB, kBias, kResidual };

void parse(NodeParser& parser) { refuse_fused_form(parser, 2); }

void infer(Inference& inference) {
  const MatMulGeometry geometry =
      matmul_geometry(inference.inputs[kA].shape, inference.inputs[kB].shape);
  require_dtype(inference, kA, DtypeClass::real);
  require_same_dtypes(inference);
  activation_of(inference.node);
  if (inference.has_input(kBias) && inference.inputs[kBias].shape != Shape{geometry.n}) {
    fail(Error::Code::invalid_model, "the bias is {}, expected one value for each of {} columns",
         to_string(inference.inputs[kBias]), geometry.n);
  }
  if (inference.has_input(kResidual) && inference.inputs[kResidual].shape != geometry.output) {
    fail(Error::Code::invalid_model, "the residual is {}, the output {}",
         to_string(inference.inputs[kResidual]), to_string(geometry.output));
  }
  inference.output(inference.inputs[kA].dtype, geometry.output);
}

void eval(const Eval& eval) {
  const MatMulGeometry geometry = matmul_geometry(eval.inputs[kA].shape, eval.inputs[kB].shape);
  const FloatInput a(eval, kA), b(eval, kB), bias(eval, kBias), residual(eval, kResidual);
  const FloatOutput y(eval.outputs[0]);
  const Activation activation = activation_of(eval.node);
  multiply(geometry, a.data(), b.data(), [&](s64 index, s64 column, f32 sum) {
    if (bias) sum += bias[column];
    if (residual) sum += residual[index];
    y[index] = apply(activation, sum);
  });
  y.store();
}

// The shape of weights that are known before the run; empty where they are not.
Shape constant_shape(const QuantizeRequest& request) {
  const ValueId codes = request.inputs[kB].codes;
  const ValueId id = codes == kNoValue ? request.node.inputs[kB] : codes;
  return request.graph.is_constant(id) ? request.graph.value(id).type.shape : Shape{};
}

QuantizeResult quantize(const QuantizeRequest& request) {
  // Kernels multiply codes by one matrix of weights, or by activations; those of reals take any.
  const Shape weights = constant_shape(request);
  if (weights.rank() > 2 && dims_product(weights, 0, weights.rank() - 2) > 1)
    return {.node = {}, .reject = "its weights are a batch of matrices"};
  return quantize_product(request,
                          {.op = "QMatMul", .channel_axis = -1, .activation_weights = true});
}

constexpr OpTraits kTraits{
    .macs = matrix_product_macs, .takes_activation = true, .integer_product = &kQMatMul};

}  // namespace

extern constinit const OpDef kMatMul{.name = "MatMul",
                                     .inputs = {2, 4},
                                     .parse = parse,
                                     .infer = infer,
                                     .eval = eval,
                                     .quant = {.kind = QuantKind::compute, .quantize = quantize},
                                     .traits = &kTraits};
}  // namespace octet
