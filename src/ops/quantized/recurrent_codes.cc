// SPDX-License-Identifier: Apache-2.0
// What QLSTM, QGRU and QRNN share: x by W, and the state, rounded to codes in each step, by R. Biases, gates, cells and results are reals.
#include <cmath>
#include <vector>

#include "core/check.h"
#include "ops/attributes/recurrent.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/quantize_recurrent.h"
#include "ops/quantized/zero_points.h"

namespace octet {
namespace {

constexpr auto kMalformed = Error::Code::invalid_model;

void check_codes(const Inference& inference) {
  const Dtype x = inference.inputs[kRecX].dtype;
  if (!is_code(x)) fail(kMalformed, "input is {}, expected u8 or s8", dtype_name(x));
  for (size_t i : {kRecW, kRecR}) {
    const Dtype weights = inference.inputs[i].dtype;
    if (weights != Dtype::s8) fail(kMalformed, "weights are {}, expected s8", dtype_name(weights));
  }
  const auto refuse = [&]<auto kMember>() {
    if (has_attribute<kMember>(inference.node))
      fail(kMalformed, "attribute '{}' has no form of codes", attribute_name<kMember>());
  };
  refuse.operator()<&RecurrentAttributes::activations>();
  refuse.operator()<&RecurrentAttributes::clip>();
  refuse.operator()<&RecurrentAttributes::input_forget>();
  if (inference.has_input(kRecPeepholes)) fail(kMalformed, "peepholes have no form of codes");
  for (size_t i = 0; i < inference.inputs.size(); ++i) {
    const bool real = i != kRecX && i != kRecW && i != kRecR && i != kRecLengths;
    if (real && inference.has_input(i) && inference.inputs[i].dtype != Dtype::f32)
      fail(kMalformed, "input {} is {}, expected f32", i, dtype_name(inference.inputs[i].dtype));
  }
}

// Codes less their zero point, as reals.
Tensor centered(const ConstView& codes, s32 zero_point) {
  Tensor reals(Dtype::f32, codes.shape);
  const auto to = reals.mutable_as<f32>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<f32>(code_at(codes, i) - zero_point);
  return reals;
}

}  // namespace

f32 state_scale_of(const Node& node) {
  const f32 scale = attribute_of<&QRecurrentAttributes::state_scale>(node);
  if (std::isnormal(scale) && scale > 0.0f) return scale;
  fail(kMalformed, "attribute 'state_scale' is {}, expected a positive number", scale);
}

void infer_recurrent_codes(Inference& inference, const RecurrentKind& kind) {
  if (!inference.has_input(kQRecMultipliers)) fail(kMalformed, "there are no multipliers");
  check_codes(inference);
  state_scale_of(inference.node);
  input_zero_points(inference.node);
  std::vector<TensorType> types = inference.inputs;
  for (size_t i : {kRecX, kRecW, kRecR}) types[i].dtype = Dtype::f32;
  Inference reals(inference.node, std::move(types), {});
  infer_recurrent(reals, kind);
  const TensorType multipliers = inference.inputs[kQRecMultipliers];
  const Shape& w = inference.inputs[kRecW].shape;
  if (multipliers.shape != Shape{2, w[0], w[1]})
    fail(kMalformed, "multipliers are {}, expected one for each row of each product",
         to_string(multipliers));
  inference.outputs = reals.outputs;
}

void eval_recurrent_codes(const Eval& eval, const RecurrentKind& kind,
                          void (*cell)(const CellStep&)) {
  const Tensor x = centered(eval.inputs[kRecX], input_zero_point(eval.node, kRecX));
  const Tensor w = centered(eval.inputs[kRecW], 0), r = centered(eval.inputs[kRecR], 0);
  std::vector<ConstView> inputs(eval.inputs.begin(), eval.inputs.end());
  inputs[kRecX] = view(x);
  inputs[kRecW] = view(w);
  inputs[kRecR] = view(r);
  const auto multipliers = eval.inputs[kQRecMultipliers].as<f32>();
  const size_t rows = multipliers.size() / 2;
  eval_recurrent_of_codes(
      {eval.node, inputs, eval.outputs}, kind, cell,
      {multipliers.first(rows), multipliers.subspan(rows), state_scale_of(eval.node)});
}

}  // namespace octet
