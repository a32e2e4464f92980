// SPDX-License-Identifier: Apache-2.0
// Builds QConv from Conv and QMatMul from MatMul: weights, bias, multipliers, and the proof that no sum overflows.
#pragma once

#include <string_view>

#include "graph/op_def.h"

namespace octet {

struct ProductRule {
  std::string_view op;              // "QConv" or "QMatMul"
  int channel_axis = 0;             // of the weights; negative counts from the end
  bool activation_weights = false;  // the second operand may be computed at run time
};

// The float node's inputs are x, weights, bias, residual.
QuantizeResult quantize_product(const QuantizeRequest& request, const ProductRule& rule);

}  // namespace octet
