// SPDX-License-Identifier: Apache-2.0
// QSoftmax and QLayerNormalization: rows of codes or reals to rows of codes (QInstanceNormalization shares
// attributes and builder with them, not the arithmetic). They are DequantizeLinear, the float operator and
// QuantizeLinear in one step, with every rounding of the three (docs/numerics.md sections 2 and 7).
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace octet {

// Attribute `scales` = [scale_x, scale_y], both finite, normal and positive; else Error(invalid_model).
struct RowScales {
  f32 x = 1.0f;
  f32 y = 1.0f;
};
RowScales row_scales(const Node& node);

// Whether the node's rows reach to the last axis, as the kernels of codes want them. Normalizations begin at their axis.
bool rows_lie_last(const Graph& graph, const Node& node);
// The integer node over the codes of input 0, with the float node's other inputs and its attributes; or a reason.
QuantizeResult code_rows_node(const QuantizeRequest& request, std::string_view op);

// Checks codes (or reals, where `reals`), scales and zero points; the output has the shape of input 0.
void infer_code_rows(Inference& inference, bool reals = false);

// Input 0 as reals.
std::vector<f32> dequantized_rows(const Eval& eval);
void store_quantized_rows(const Eval& eval, const std::vector<f32>& reals);

}  // namespace octet
