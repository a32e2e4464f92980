// SPDX-License-Identifier: Apache-2.0
// Operators of one form: their files give a name and the mathematics, the rest is here.
#pragma once

#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/float_io.h"
#include "ops/shared/reduction.h"
#include "ops/shared/strided.h"

namespace octet {

using EvalFunction = void (*)(const Eval&);
using ParseFunction = void (*)(NodeParser&);
using InferFunction = void (*)(Inference&);
using QuantizeFunction = QuantizeResult (*)(const QuantizeRequest&);

// Of one tensor of reals, element by element.
constexpr OpDef real_function(std::string_view name, EvalFunction eval,
                              ParseFunction parse = nullptr) {
  return {.name = name, .parse = parse, .infer = infer_real, .eval = eval};
}

template <f64 (*real)(f64, const Node&)>
void infer_float_function(Inference& inference) {
  real(0.0, inference.node);  // attributes of a wrong kind fail here
  infer_elementwise_float(inference);
}

template <f64 (*real)(f64, const Node&)>
QuantizeResult quantize_as_table(const QuantizeRequest& request) {
  return quantize_table(request, real);
}

// The same for floats; of codes it is a table, made of `real`.
template <f64 (*real)(f64, const Node&)>
constexpr OpDef float_function(std::string_view name, EvalFunction eval,
                               const OpTraits* traits = &kPlainTraits) {
  return {.name = name,
          .parse = drop_consumed_inputs,
          .infer = infer_float_function<real>,
          .eval = eval,
          .quant = {.kind = QuantKind::table, .quantize = quantize_as_table<real>},
          .traits = traits};
}

// Of two tensors that are broadcast: infer_logic, infer_compare, infer_bitwise.
constexpr OpDef broadcast_pair(std::string_view name, InferFunction infer, EvalFunction eval,
                               ParseFunction parse = nullptr) {
  return {.name = name, .inputs = {2, 2}, .parse = parse, .infer = infer, .eval = eval};
}

inline constexpr OpTraits kElementwiseTraits{.elementwise = true};

// Of two tensors of numbers; `quantize` makes its form of codes.
constexpr OpDef arithmetic_pair(std::string_view name, EvalFunction eval,
                                QuantizeFunction quantize) {
  return {.name = name,
          .inputs = {2, 2},
          .parse = parse_legacy_broadcast,
          .infer = infer_numeric_broadcast,
          .eval = eval,
          .quant = {.kind = QuantKind::arithmetic, .quantize = quantize},
          .traits = &kElementwiseTraits};
}

// Of any number of them.
constexpr OpDef broadcast_all(std::string_view name, EvalFunction eval) {
  return {.name = name,
          .inputs = {1, -1},
          .parse = drop_consumed_inputs,
          .infer = infer_numeric_broadcast,
          .eval = eval,
          .traits = &kElementwiseTraits};
}

// Over axes: infer_reduction, infer_real_reduction, infer_any_reduction.
constexpr OpDef reduction(std::string_view name, InferFunction infer, EvalFunction eval) {
  return {.name = name, .inputs = {1, 2}, .parse = parse_reduction, .infer = infer, .eval = eval};
}

// The elements of input 0 in their order, in the shape that `infer` says.
inline constexpr OpTraits kPermutes{.permutes = true};
constexpr OpDef reshaping(std::string_view name, Arity inputs, InferFunction infer,
                          ParseFunction parse = nullptr) {
  return {.name = name,
          .inputs = inputs,
          .parse = parse,
          .infer = infer,
          .eval = eval_copy,
          .quant = kMovesCodes,
          .traits = &kPermutes};
}

}  // namespace octet
