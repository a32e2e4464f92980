// SPDX-License-Identifier: Apache-2.0
// From a real to a code (docs/numerics.md, section 2): device/code_end.cuh.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

#define CODE_END_FIELDS(FIELD)                        \
  FIELD(bool, leaky) /* negative reals times alpha */ \
  FIELD(F32Bits, alpha)                               \
  FIELD(s32, zero_point)                              \
  FIELD(s32, lo)                                      \
  FIELD(s32, hi)
OCTET_SPEC(CodeEndSpec, CODE_END_FIELDS)

}  // namespace octet::cuda
