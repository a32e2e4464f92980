// SPDX-License-Identifier: Apache-2.0
// From a real to a code: device/elements.cuh, quantized().
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

#define QUANTIZATION_FIELDS(FIELD)                                                  \
  FIELD(F32Bits, scale)                                                             \
  FIELD(F32Bits, reciprocal) /* fl(1 / scale); 0 where no quotient follows of it */ \
  FIELD(s32, zero_point)     /* of codes that lie between lo and hi */              \
  FIELD(s32, lo)                                                                    \
  FIELD(s32, hi)
OCTET_SPEC(Quantization, QUANTIZATION_FIELDS)

}  // namespace octet::cuda
