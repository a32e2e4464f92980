// SPDX-License-Identifier: Apache-2.0
// The activation that passes fold into Conv, MatMul and Add (attributes activation, activation_min/max/alpha).
#pragma once

#include <limits>

#include "core/rounding.h"
#include "core/types.h"
#include "graph/graph.h"

namespace octet {

struct Activation {
  enum class Kind : u8 { none, relu, clip, leaky_relu };
  Kind kind = Kind::none;
  f32 min = -std::numeric_limits<f32>::infinity();  // relu and clip: the bounds
  f32 max = std::numeric_limits<f32>::infinity();
  f32 alpha = 1.0f;  // leaky_relu: the slope below zero

  // relu and clip are clamps to [min, max], which integer outputs fold into their lo and hi.
  bool is_clamp() const { return kind == Kind::relu || kind == Kind::clip; }
};

// Throws Error(invalid_model) for an unknown name.
Activation activation_of(const Node& node);

// For `parse`: what passes fold into a node is no part of ONNX, so a file that holds it is refused.
class NodeParser;
void refuse_fused_form(const NodeParser& parser, size_t onnx_inputs);

inline f32 apply(const Activation& activation, f32 x) {
  if (activation.is_clamp()) return bounded(x, activation.min, activation.max);
  if (activation.kind == Activation::Kind::leaky_relu && x < 0.0f) return x * activation.alpha;
  return x;
}

}  // namespace octet
