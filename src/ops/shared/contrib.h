// SPDX-License-Identifier: Apache-2.0
// What the operators of com.microsoft share: ONNX Runtime fuses several of ONNX's into one, and Octet reads them as those again.
#pragma once

#include <span>
#include <string_view>

#include "ops/shared/node_parser.h"

namespace octet {

// Of com.microsoft, in ONNX files alone: `parse` makes ONNX's operators of it.
constexpr OpDef contrib_operator(std::string_view name, Arity inputs, void (*parse)(NodeParser&),
                                 Arity outputs = {}) {
  return {.name = name,
          .domain = "com.microsoft",
          .inputs = inputs,
          .outputs = outputs,
          .parse = parse};
}

// The node becomes ONNX's operator `op`, read as a file's of `opset` would be.
void parse_as(NodeParser& parser, std::string_view op, int opset);

// A number in the element type of `like`.
ValueId typed_scalar(NodeParser& parser, f32 number, ValueId like);

// Dimension `axis` of a value, [1].
ValueId dimension_of(NodeParser& parser, ValueId id, s64 axis);
// 0, 1, .. below a number [1], s64.
ValueId numbers_below(NodeParser& parser, ValueId end);

// Input i, which is constant; as is what the second gives, whose elements are real numbers. They throw Error(unsupported) for one that is
// computed and Error(invalid_model) for other elements, and call it `what`.
const Tensor& known_input(const NodeParser& parser, size_t i, const char* what);
const Tensor& known_reals(const NodeParser& parser, size_t i, const char* what);

// Adds the activation behind the node, by the name that FusedConv and FusedGemm give it, with what `parameters` it has; none
// for "". Throws Error(unsupported) for a name that is unknown.
void emit_activation(NodeParser& parser, std::string_view name, std::span<const f32> parameters);

// What com.microsoft's products of codes take: codes of a and b, their scales and zero points, and a bias; kNoValue where there is none.
struct ScaledProduct {
  ValueId a = kNoValue, b = kNoValue;
  ValueId a_scale = kNoValue, b_scale = kNoValue;
  ValueId a_zero = kNoValue, b_zero = kNoValue;
  ValueId bias = kNoValue;
};

// The node becomes a MatMulInteger whose sums are multiplied by both scales, plus the bias.
void parse_scaled_product(NodeParser& parser, const ScaledProduct& product);

// The sum of x, the skip connection and a bias where there is one, which the node's last output is where it has four: what SkipLayerNormalization
// and SkipSimplifiedLayerNormalization normalize.
ValueId skip_sum(NodeParser& parser, size_t bias);

}  // namespace octet
