// SPDX-License-Identifier: Apache-2.0
// Builds QConv from Conv and QMatMul from MatMul: weights, bias, multipliers, and the proof that no sum overflows.
#pragma once

#include <span>
#include <string_view>

#include "graph/op_def.h"

namespace octet {

struct ProductRule {
  std::string_view op;              // "QConv" or "QMatMul"
  int channel_axis = 0;             // of the weights; negative counts from the end
  bool activation_weights = false;  // the second operand may be computed at run time
};

inline constexpr ProductRule kConvolutionRule{.op = "QConv", .channel_axis = 0};

// The float node's inputs are x, weights, bias, residual. `output_scales` are those of its output channels where they have one
// each: then the request's is 1, and every channel requantizes with a multiplier of its own, as it does anyway.
QuantizeResult quantize_product(const QuantizeRequest& request, const ProductRule& rule,
                                std::span<const f32> output_scales = {});

}  // namespace octet
