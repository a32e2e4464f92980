// SPDX-License-Identifier: Apache-2.0
// Attributes of functions of elements.
#pragma once

#include <array>

#include "graph/attributes.h"

namespace octet {

// Celu, Elu, Swish, ThresholdedRelu.
struct AlphaAttributes {
  f32 alpha = 1.0f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("alpha", self.alpha);
  }
};

struct LeakyReluAttributes {
  f32 alpha = 0.01f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("alpha", self.alpha);
  }
};

struct HardSigmoidAttributes {
  f32 alpha = 0.2f;
  f32 beta = 0.5f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("alpha", self.alpha);
    field("beta", self.beta);
  }
};

struct SeluAttributes {
  f32 alpha = 1.67326319217681884765625f;
  f32 gamma = 1.05070102214813232421875f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("alpha", self.alpha);
    field("gamma", self.gamma);
  }
};

struct ShrinkAttributes {
  f32 bias = 0.0f;
  f32 lambd = 0.5f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("bias", self.bias);
    field("lambd", self.lambd);
  }
};

enum class GeluForm : u8 { none, tanh };

inline AttributeNames<GeluForm> attribute_names(GeluForm) {
  static constexpr std::array<std::pair<std::string_view, GeluForm>, 2> kNames{
      {{"none", GeluForm::none}, {"tanh", GeluForm::tanh}}};
  return kNames;
}

struct GeluAttributes {
  GeluForm approximate = GeluForm::none;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("approximate", self.approximate);
  }
};

struct ModAttributes {
  bool fmod = false;  // the result has the sign of the dividend

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("fmod", self.fmod);
  }
};

struct IsInfAttributes {
  bool detect_negative = true;
  bool detect_positive = true;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("detect_negative", self.detect_negative);
    field("detect_positive", self.detect_positive);
  }
};

}  // namespace octet
