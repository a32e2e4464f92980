// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN, of reals and of codes: their files give a name, the counts of inputs and outputs and the cell.
#pragma once

#include "graph/float_attributes.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/quantized/quantize_recurrent.h"
#include "ops/shared/work.h"

namespace octet {

inline constexpr FloatAttribute kRecurrentFloats[] = {{"clip", FloatDomain::non_negative}};

// `codes` is the operator whose products are of codes.
template <const OpDef* codes>
inline constexpr OpTraits kRecurrentTraits{
    .macs = recurrence_macs, .floats = kRecurrentFloats, .recurrence_of_codes = codes};

// Completes a layer of reals.
template <const OpDef* codes>
constexpr OpDef recurrent_layer(OpDef op) {
  op.quant = {.kind = QuantKind::compute, .quantize = quantize_recurrent};
  op.traits = &kRecurrentTraits<codes>;
  return op;
}

inline constexpr OpTraits kRecurrenceOfCodes{.macs = recurrence_macs,
                                             .codes = CodeMeaning::attributes,
                                             .verify = verify_zero_points,
                                             .s8_weights = true};

constexpr OpDef recurrent_layer_of_codes(std::string_view name, Arity outputs, CodesInference infer,
                                         CodesEval eval) {
  OpDef op = on_codes(name, {3, 9}, infer, eval, &kRecurrenceOfCodes);
  op.outputs = outputs;
  return op;
}

}  // namespace octet
