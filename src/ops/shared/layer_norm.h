// SPDX-License-Identifier: Apache-2.0
// What LayerNormalization and QLayerNormalization share.
#pragma once

#include "graph/op_def.h"

namespace octet {

// x is normalized over the axes from this one on.
int layer_norm_axis(const Node& node, const Shape& x);

// Scale (input 1) and bias (input 2, optional) hold one value for each normalized element; else Error(unsupported).
void check_layer_norm_parameters(const Inference& inference);

// Rows of `count` elements, in place where y is x.
struct LayerNormRows {
  const f32* x;
  f32* y;
  const f32* scale;
  const f32* bias;  // or null
  s64 count;
  f32 epsilon;
};
// Normalizes one row; `mean` and `inverse_std` may be null, else they get the row's statistics.
void layer_norm_row(const LayerNormRows& rows, s64 row, f32* mean, f32* inverse_std);

}  // namespace octet
