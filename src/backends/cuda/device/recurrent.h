// SPDX-License-Identifier: Apache-2.0
// The sequences of a recurrent layer, as both of its kernels walk them: device/recurrent.cuh.
#pragma once

#include "backends/cuda/device/element_type.h"

namespace octet::cuda {

#define RECURRENT_WALK_FIELDS(FIELD)                                   \
  FIELD(s32, steps)                                                    \
  FIELD(s32, batch)                                                    \
  FIELD(s32, at_once) /* steps whose inputs are multiplied together */ \
  FIELD(bool, batch_first)                                             \
  FIELD(bool, reverse) /* the first direction */                       \
  FIELD(bool, lengths) /* sequences have lengths of their own */       \
  FIELD(ElementType, length)                                           \
  FIELD(bool, bias)                                                    \
  FIELD(                                                               \
      bool,                                                            \
      codes) /* products are of codes: reals that are whole, whose sums a real holds in any order */
OCTET_SPEC(RecurrentWalk, RECURRENT_WALK_FIELDS)

constexpr s32 kLanes =
    16;  // of a sum of products: element k goes into lane k mod 16 (core/reduce.h)

}  // namespace octet::cuda
