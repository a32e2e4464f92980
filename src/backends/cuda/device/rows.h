// SPDX-License-Identifier: Apache-2.0
// What kernels that normalize rows know of the elements that they read and write.
#pragma once

#include "backends/cuda/device/quantization.h"

namespace octet::cuda {

#define ROW_VALUES_FIELDS(FIELD)                      \
  FIELD(bool, x_codes)  /* x has codes, else reals */ \
  FIELD(bool, x_signed) /* of s8 */                   \
  FIELD(F32Bits, x_scale)                             \
  FIELD(s32, x_zero_point)                            \
  FIELD(bool, y_codes) /* y has codes, else reals */  \
  FIELD(Quantization, y)
OCTET_SPEC(RowValues, ROW_VALUES_FIELDS)

// `scale` and `bias`: of a normalization, else null.
struct RowsParams {
  const u8* x;
  const f32* scale;
  const f32* bias;
  u8* y;
};

}  // namespace octet::cuda
