// SPDX-License-Identifier: Apache-2.0
// QFunction: a function of single reals (attribute `function`, with the attributes of that operator), then QuantizeLinear with `scale`.
// docs/numerics.md sections 2 and 7.
#include "ops/quantized/qfunction.h"

#include <cmath>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/rounding.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/registry.h"

namespace octet {

Node function_of(const Node& node) {
  const std::string name = attribute_of<&QFunctionAttributes::function>(node);
  Node function = node;
  function.op = find_op(name);
  const bool known = function.op != nullptr && function.op->quant.kind == QuantKind::table;
  if (!known || function.op->inputs.min > 1)
    fail(Error::Code::invalid_model, "attribute 'function' is '{}', no function of single reals",
         name);
  erase_attributes<QFunctionAttributes>(function.attrs);
  erase_attributes<OutputCodesAttributes>(function.attrs);
  return function;
}

f32 function_scale(const Node& node) {
  const f32 scale = attribute_of<&QFunctionAttributes::scale>(node);
  if (std::isnormal(scale) && scale > 0.0f) return scale;
  fail(Error::Code::invalid_model, "attribute 'scale' is {}, expected a positive number", scale);
}

namespace {

void infer(Inference& inference) {
  const TensorType& x = inference.inputs[0];
  if (x.dtype != Dtype::f32)
    fail(Error::Code::invalid_model, "input is {}, expected f32", to_string(x));
  function_of(inference.node);
  function_scale(inference.node);
  infer_code_output(inference, x.shape);
}

void eval(const Eval& eval) {
  const Node function = function_of(eval.node);
  Tensor real(Dtype::f32, eval.inputs[0].shape);
  const MutableView view = mutable_view(real);
  function.op->eval({.node = function, .inputs = eval.inputs, .outputs = {&view, 1}});
  const f32 scale = function_scale(eval.node);
  const CodeRange range = epilogue_of(eval.node).range;
  const auto values = real.as<f32>();
  for (size_t i = 0; i < values.size(); ++i)
    store_code(eval.outputs[0], i,
               quantize(values[i], scale, range.zero_point, range.lo, range.hi));
}

constexpr OpTraits kTraits{.codes = CodeMeaning::attributes,
                           .verify = verify_zero_points,
                           .function_of_reals = function_of};

}  // namespace

extern constinit const OpDef kQFunction = on_codes("QFunction", {1, 1}, infer, eval, &kTraits);
}  // namespace octet
