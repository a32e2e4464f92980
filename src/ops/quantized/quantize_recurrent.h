// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN over codes (docs/numerics.md section 5): QLSTM, QGRU and QRNN of constant weights.
#pragma once

#include <string>
#include <vector>

#include "graph/op_def.h"
#include "ops/quantized/quantize_weights.h"
#include "ops/shared/recurrent.h"

namespace octet {

// Inputs of QLSTM, QGRU and QRNN: those of LSTM, GRU and RNN, with codes for x, W and R; then multipliers, f32[2, directions, gates * hidden],
// of W's rows and of R's.
enum : size_t { kQRecMultipliers = 8 };

// The largest magnitude of a state is 1, so its scale is known.
inline constexpr f32 kStateScale = 1.0f / static_cast<f32>(kMostStateCode);
// Attribute `state_scale`, finite, normal and positive; else Error(invalid_model).
f32 state_scale_of(const Node& node);

void infer_recurrent_codes(Inference& inference, const RecurrentKind& kind);
void eval_recurrent_codes(const Eval& eval, const RecurrentKind& kind,
                          void (*cell)(const CellStep&));

// Why the layer has no form of codes, whatever these are; empty: it has one.
std::string no_recurrence_of_codes(const Graph& graph, const Node& node);

// The codes of x.
struct InputCodes {
  QuantParams params;
  Dtype dtype = Dtype::u8;
};
struct RecurrentConstants {
  Tensor w = {}, r = {};  // codes, a scale for each row of each direction
  Tensor multipliers = {};
  std::string reject = {};  // not empty: why there are none
};
// Of a layer that has a form of codes.
RecurrentConstants recurrent_constants(const Graph& graph, const Node& node, const InputCodes& x,
                                       WeightCodes* cache);
// Rows of W or R.
Channels recurrent_channels(const Shape& weights);
// Without outputs.
Node recurrence_of_codes(const Node& node, std::vector<ValueId> inputs, s32 zero_point);

// The node over codes, or why there is none.
QuantizeResult quantize_recurrent(const QuantizeRequest& request);

}  // namespace octet
