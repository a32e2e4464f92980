// SPDX-License-Identifier: Apache-2.0
// The attributes of a folded activation; ops/shared/activation.h says what they mean together.
#pragma once

#include <array>
#include <limits>

#include "graph/attributes.h"
#include "ops/shared/activation.h"

namespace octet {

constexpr auto attribute_words(Activation::Kind) {
  return std::to_array<AttributeWord<Activation::Kind>>(
      {{"", Activation::Kind::none},
       {"relu", Activation::Kind::relu},
       {"clip", Activation::Kind::clip},
       {"leaky_relu", Activation::Kind::leaky_relu}});
}

struct ActivationAttributes {
  Activation::Kind activation = Activation::Kind::none;
  f32 activation_min = -std::numeric_limits<f32>::infinity();
  f32 activation_max = std::numeric_limits<f32>::infinity();
  f32 activation_alpha = 0.01f;

  OCTET_ATTRIBUTES(activation, activation_min, activation_max, activation_alpha)
};

// Whether something is folded into the node.
inline bool has_activation(const Node& node) {
  return attribute_of<&ActivationAttributes::activation>(node) != Activation::Kind::none;
}

}  // namespace octet
