// SPDX-License-Identifier: Apache-2.0
// Attributes of what normalizes: rows, channels and groups of channels.
#pragma once

#include "graph/attributes.h"

namespace octet {

// BatchNormalization, InstanceNormalization, QInstanceNormalization.
struct NormAttributes {
  f32 epsilon = 1e-5f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("epsilon", self.epsilon);
  }
};

// LayerNormalization, RMSNormalization, QLayerNormalization: over all axes from `axis` on.
struct RowNormAttributes : NormAttributes {
  s64 axis = -1;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    NormAttributes::fields(self, field);
    field("axis", self.axis);
  }
};

struct GroupNormAttributes : NormAttributes {
  s64 num_groups = 1;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    NormAttributes::fields(self, field);
    field("num_groups", self.num_groups, kRequired);
  }
};

// Softmax, LogSoftmax, Hardmax, LpNormalization, QSoftmax.
struct SoftmaxAttributes {
  s64 axis = -1;
  bool flatten = false;  // over all axes from `axis` on, as opsets before 13 have it

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("axis", self.axis);
    field("flatten", self.flatten);
  }
};

struct LpNormAttributes : SoftmaxAttributes {
  s64 p = 2;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    SoftmaxAttributes::fields(self, field);
    field("p", self.p);
  }
};

}  // namespace octet
