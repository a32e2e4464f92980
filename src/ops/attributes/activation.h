// SPDX-License-Identifier: Apache-2.0
// The attributes of a folded activation; ops/shared/activation.h says what they mean together.
#pragma once

#include <array>
#include <limits>

#include "graph/attributes.h"
#include "ops/shared/activation.h"

namespace octet {

inline AttributeNames<Activation::Kind> attribute_names(Activation::Kind) {
  static constexpr std::array<std::pair<std::string_view, Activation::Kind>, 4> kNames{
      {{"", Activation::Kind::none},
       {"relu", Activation::Kind::relu},
       {"clip", Activation::Kind::clip},
       {"leaky_relu", Activation::Kind::leaky_relu}}};
  return kNames;
}

struct ActivationAttributes {
  Activation::Kind activation = Activation::Kind::none;
  f32 activation_min = -std::numeric_limits<f32>::infinity();
  f32 activation_max = std::numeric_limits<f32>::infinity();
  f32 activation_alpha = 0.01f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("activation", self.activation);
    field("activation_min", self.activation_min);
    field("activation_max", self.activation_max);
    field("activation_alpha", self.activation_alpha);
  }
};

// Whether something is folded into the node.
inline bool has_activation(const Node& node) {
  return attribute_of<&ActivationAttributes::activation>(node) != Activation::Kind::none;
}

}  // namespace octet
