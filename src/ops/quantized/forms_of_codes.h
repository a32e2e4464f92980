// SPDX-License-Identifier: Apache-2.0
// Operators of codes of one form: their files give a name, the inputs and the mathematics, the rest is here.
#pragma once

#include <string_view>

#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/zero_points.h"
#include "ops/shared/strided.h"

namespace octet {

using CodesEval = void (*)(const Eval&);
using CodesInference = void (*)(Inference&);

inline constexpr OpTraits kCodesInAttributes{.codes = CodeMeaning::attributes,
                                             .verify = verify_zero_points};

// In no ONNX file, one output.
constexpr OpDef on_codes(std::string_view name, Arity inputs, CodesInference infer, CodesEval eval,
                         const OpTraits* traits = &kCodesInAttributes) {
  return {.name = name,
          .domain = "octet",
          .inputs = inputs,
          .infer = infer,
          .eval = eval,
          .traits = traits};
}

// Completes a product whose scales or zero points are inputs: where these turn out constant, its `parse` makes it QConv or QMatMul.
template <WorkFormula macs>
inline constexpr OpTraits kOpenProductTraits{.macs = macs, .parse_again = true};
template <WorkFormula macs>
constexpr OpDef open_product(OpDef op) {
  op.traits = &kOpenProductTraits<macs>;
  return op;
}

// The type of input 0, which is of codes; else Error(invalid_model).
const TensorType& input_of_codes(const Inference& inference);

// Two inputs of codes that are broadcast.
void infer_code_pairs(Inference& inference);
// The code of f(a, b) for each pair of codes less their zero points.
template <class F>
void eval_code_pairs(const Eval& eval, F f) {
  const Epilogue epilogue = epilogue_of(eval.node);
  const Shape shapes[] = {eval.inputs[0].shape, eval.inputs[1].shape};
  const BroadcastRows rows(eval.outputs[0].shape, shapes);
  rows.for_each([&](s64 at, const BroadcastRows::Offsets& offsets) {
    for (s64 i = 0; i < rows.length(); ++i) {
      const size_t ia = static_cast<size_t>(offsets[0] + i * rows.step(0));
      const size_t ib = static_cast<size_t>(offsets[1] + i * rows.step(1));
      const s32 a = code_at(eval.inputs[0], ia) - epilogue.zero_point(0);
      const s32 b = code_at(eval.inputs[1], ib) - epilogue.zero_point(1);
      store_code(eval.outputs[0], static_cast<size_t>(at + i), to_code(epilogue, f(a, b)));
    }
  });
}

}  // namespace octet
