// SPDX-License-Identifier: Apache-2.0
// Attributes of functions of elements.
#pragma once

#include <array>

#include "graph/attributes.h"

namespace octet {

// Celu, Elu, Swish, ThresholdedRelu.
struct AlphaAttributes {
  f32 alpha = 1.0f;

  OCTET_ATTRIBUTES(alpha)
};

struct LeakyReluAttributes {
  f32 alpha = 0.01f;

  OCTET_ATTRIBUTES(alpha)
};

struct HardSigmoidAttributes {
  f32 alpha = 0.2f;
  f32 beta = 0.5f;

  OCTET_ATTRIBUTES(alpha, beta)
};

struct SeluAttributes {
  f32 alpha = 1.67326319217681884765625f;
  f32 gamma = 1.05070102214813232421875f;

  OCTET_ATTRIBUTES(alpha, gamma)
};

struct ShrinkAttributes {
  f32 bias = 0.0f;
  f32 lambd = 0.5f;

  OCTET_ATTRIBUTES(bias, lambd)
};

enum class GeluForm : u8 { none, tanh };

constexpr auto attribute_words(GeluForm) {
  return std::to_array<AttributeWord<GeluForm>>(
      {{"none", GeluForm::none}, {"tanh", GeluForm::tanh}});
}

struct GeluAttributes {
  GeluForm approximate = GeluForm::none;

  OCTET_ATTRIBUTES(approximate)
};

struct ModAttributes {
  bool fmod = false;  // the result has the sign of the dividend

  OCTET_ATTRIBUTES(fmod)
};

struct IsInfAttributes {
  bool detect_negative = true;
  bool detect_positive = true;

  OCTET_ATTRIBUTES(detect_negative, detect_positive)
};

}  // namespace octet
