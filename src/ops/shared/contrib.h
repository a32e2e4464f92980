// SPDX-License-Identifier: Apache-2.0
// What the operators of com.microsoft share: ONNX Runtime fuses several of ONNX's into one, and Octet reads them as those again.
#pragma once

#include <span>
#include <string_view>

#include "ops/shared/node_parser.h"

namespace octet {

// The node becomes ONNX's operator `op`, read as a file's of `opset` would be.
void parse_as(NodeParser& parser, std::string_view op, int opset);

// A number in the element type of `like`.
ValueId typed_scalar(NodeParser& parser, f32 number, ValueId like);

// Adds the activation behind the node, by the name that FusedConv and FusedGemm give it, with what `parameters` it has; none
// for "". Throws Error(unsupported) for a name that is unknown.
void emit_activation(NodeParser& parser, std::string_view name, std::span<const f32> parameters);

// The sum of x, the skip connection and a bias where there is one, which the node's last output is where it has four: what SkipLayerNormalization
// and SkipSimplifiedLayerNormalization normalize.
ValueId skip_sum(NodeParser& parser, size_t bias);

}  // namespace octet
