// SPDX-License-Identifier: Apache-2.0
// What kernels that normalize rows know of the elements that they read and write.
#pragma once

#include "backends/cuda/device/number.h"
#include "backends/cuda/device/quantization.h"

namespace octet::cuda {

// A sum in front: of x and of what is added, rounded.
#define ROW_SUM_FIELDS(FIELD)                   \
  FIELD(bool, exists)                           \
  FIELD(Number, added)   /* f32, f16 or bf16 */ \
  FIELD(Number, rounded) /* to it; f32: it is not*/
OCTET_SPEC(RowSum, ROW_SUM_FIELDS)

#define ROW_VALUES_FIELDS(FIELD)                                \
  FIELD(bool, x_codes)  /* x has codes, else reals */           \
  FIELD(bool, x_signed) /* of s8 */                             \
  FIELD(F32Bits, x_scale)                                       \
  FIELD(s32, x_zero_point)                                      \
  FIELD(Number, x_real) /* f32, f16 or bf16 */                  \
  FIELD(RowSum, sum)                                            \
  FIELD(bool, y_codes) /* y has codes, else reals */            \
  FIELD(Quantization, y)                                        \
  FIELD(Number, y_real)  /* f32, f16 or bf16 */                 \
  FIELD(bool, codes_too) /* of reals of 16 bits, beside them */ \
  FIELD(Number, rounded) /* reals are rounded to this type; f32: are not */
OCTET_SPEC(RowValues, ROW_VALUES_FIELDS)

// `scale` and `bias`: of a normalization, else null; `added`: of a sum.
struct RowsParams {
  const u8* x;
  const u8* added;
  const f32* scale;
  const f32* bias;
  u8* y;
  u8* codes;  // values.codes_too: of y
};

}  // namespace octet::cuda
