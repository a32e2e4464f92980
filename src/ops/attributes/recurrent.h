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

constexpr auto attribute_words(RecurrentDirection) {
  return std::to_array<AttributeWord<RecurrentDirection>>(
      {{"forward", RecurrentDirection::forward},
       {"reverse", RecurrentDirection::reverse},
       {"bidirectional", RecurrentDirection::bidirectional}});
}

// What layers of reals and of codes have.
struct RecurrentShapeAttributes {
  RecurrentDirection direction = RecurrentDirection::forward;
  std::optional<s64> hidden_size;    // that of R
  bool layout = false;               // batches before steps
  bool linear_before_reset = false;  // of GRU

  OCTET_ATTRIBUTES(direction, hidden_size, layout, linear_before_reset)
};

// LSTM, GRU, RNN.
struct RecurrentAttributes : RecurrentShapeAttributes {
  std::optional<std::vector<std::string>> activations;  // of each direction; absent: the operator's
  std::vector<f32> activation_alpha;                    // of those that take one, in their order
  std::vector<f32> activation_beta;
  f32 clip = 0.0f;            // 0: none
  bool input_forget = false;  // of LSTM: one gate for both

  OCTET_MORE_ATTRIBUTES(RecurrentShapeAttributes, activations, activation_alpha, activation_beta,
                        clip, input_forget)
};

// QLSTM, QGRU, QRNN.
struct QRecurrentAttributes : RecurrentShapeAttributes {
  f32 state_scale = 0.0f;

  OCTET_MORE_ATTRIBUTES(RecurrentShapeAttributes, state_scale)
};

}  // namespace octet
