// SPDX-License-Identifier: Apache-2.0
// Attributes of what normalizes: rows, channels and groups of channels.
#pragma once

#include "graph/attributes.h"

namespace octet {

// BatchNormalization, InstanceNormalization, QInstanceNormalization.
struct NormAttributes {
  f32 epsilon = 1e-5f;

  OCTET_ATTRIBUTES(epsilon)
};

// LayerNormalization, RMSNormalization, QLayerNormalization: over all axes from `axis` on.
struct RowNormAttributes : NormAttributes {
  s64 axis = -1;

  OCTET_MORE_ATTRIBUTES(NormAttributes, axis)
};

struct GroupNormAttributes : NormAttributes {
  s64 num_groups = 1;

  OCTET_REQUIRED_ATTRIBUTES(num_groups)
};

// Softmax, LogSoftmax, Hardmax, LpNormalization, QSoftmax.
struct SoftmaxAttributes {
  s64 axis = -1;
  bool flatten = false;  // over all axes from `axis` on, as opsets before 13 have it

  OCTET_ATTRIBUTES(axis, flatten)
};

struct LpNormAttributes : SoftmaxAttributes {
  s64 p = 2;

  OCTET_MORE_ATTRIBUTES(SoftmaxAttributes, p)
};

// Over `size` neighbouring channels.
struct LrnAttributes {
  s64 size = 1;
  f32 alpha = 1e-4f, beta = 0.75f, bias = 1.0f;

  OCTET_ATTRIBUTES(alpha, beta, bias)
  OCTET_REQUIRED_ATTRIBUTES(size)
};

}  // namespace octet
