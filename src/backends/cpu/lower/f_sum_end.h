// SPDX-License-Identifier: Apache-2.0
// The activation and the rounding of a node, as kernels of f32 do them in registers.
#pragma once

#include "backends/cpu/kernels/float/sum_end.h"
#include "backends/cpu/lower/rounding.h"
#include "ops/shared/activation.h"

namespace octet {

inline SumEndArgs sum_end_of(const Node& node) {
  const Activation activation = activation_of(node);
  const bool slopes = activation.kind == Activation::Kind::leaky_relu;
  return {activation.is_clamp(), activation.min, activation.max, slopes ? activation.alpha : 1.0f,
          rounding_code(node)};
}

}  // namespace octet
