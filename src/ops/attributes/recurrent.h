// SPDX-License-Identifier: Apache-2.0
// Attributes of recurrent layers.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "graph/attributes.h"

namespace octet {

enum class RecurrentDirection : u8 { forward, reverse, bidirectional };

inline AttributeNames<RecurrentDirection> attribute_names(RecurrentDirection) {
  static constexpr std::array<std::pair<std::string_view, RecurrentDirection>, 3> kNames{
      {{"forward", RecurrentDirection::forward},
       {"reverse", RecurrentDirection::reverse},
       {"bidirectional", RecurrentDirection::bidirectional}}};
  return kNames;
}

// What layers of reals and of codes have.
struct RecurrentShapeAttributes {
  RecurrentDirection direction = RecurrentDirection::forward;
  std::optional<s64> hidden_size;    // that of R
  bool layout = false;               // batches before steps
  bool linear_before_reset = false;  // of GRU

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("direction", self.direction);
    field("hidden_size", self.hidden_size);
    field("layout", self.layout);
    field("linear_before_reset", self.linear_before_reset);
  }
};

// LSTM, GRU, RNN.
struct RecurrentAttributes : RecurrentShapeAttributes {
  std::optional<std::vector<std::string>> activations;  // of each direction; absent: the operator's
  std::vector<f32> activation_alpha;                    // of those that take one, in their order
  std::vector<f32> activation_beta;
  f32 clip = 0.0f;            // 0: none
  bool input_forget = false;  // of LSTM: one gate for both

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    RecurrentShapeAttributes::fields(self, field);
    field("activations", self.activations);
    field("activation_alpha", self.activation_alpha);
    field("activation_beta", self.activation_beta);
    field("clip", self.clip);
    field("input_forget", self.input_forget);
  }
};

// QLSTM, QGRU, QRNN.
struct QRecurrentAttributes : RecurrentShapeAttributes {
  f32 state_scale = 0.0f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    RecurrentShapeAttributes::fields(self, field);
    field("state_scale", self.state_scale);
  }
};

}  // namespace octet
