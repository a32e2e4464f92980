// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/cuda/device/number.h"

namespace octet::cuda {

// A function of the layer's reals, behind their rounding.
enum class EndFunction : s32 {
  none,
  sigmoid,
  swish,  // x * sigmoid(first * x)
  hard_swish,
  hard_sigmoid,  // of first * x + second
  gelu,
  gelu_tanh,
  tanh,
  mish
};

#define FUNCTION_END_FIELDS(FIELD) \
  FIELD(EndFunction, kind)         \
  FIELD(F32Bits, first)            \
  FIELD(F32Bits, second)           \
  FIELD(Number, rounded) /* its reals are rounded; f32: they are not */
OCTET_SPEC(FunctionEnd, FUNCTION_END_FIELDS)

// From sums of reals to what is stored: device/real_end.cuh.
#define REAL_END_FIELDS(FIELD)                                                               \
  FIELD(Number, y)        /* codes: as QuantizeLinear makes them */                          \
  FIELD(F32Bits, x_scale) /* of codes of x; 1 where x is real, or terms are of reals: f16 */ \
  FIELD(bool, bias)                                                                          \
  FIELD(bool, residual)                                                                      \
  FIELD(Number, residual_type)                                                               \
  FIELD(F32Bits, residual_scale) /* of codes, which become reals of type residual_rounded */ \
  FIELD(s32, residual_zero_point)                                                            \
  FIELD(Number, residual_rounded)                                                            \
  FIELD(bool, leaky) /* negative reals times alpha */                                        \
  FIELD(F32Bits, alpha)                                                                      \
  FIELD(bool, clamp)                                                                         \
  FIELD(F32Bits, clamp_lo)                                                                   \
  FIELD(F32Bits, clamp_hi)                                                                   \
  FIELD(Number, rounded) /* reals are rounded to this type; f32: they are not */             \
  FIELD(FunctionEnd, function)                                                               \
  FIELD(bool, residual_last) /* it is added to the rounded reals, or the function's */       \
  FIELD(Number, sum_rounded) /* their sum is rounded to this type; f32: it is not */         \
  FIELD(F32Bits, scale)      /* of codes of y */                                             \
  FIELD(F32Bits, reciprocal) /* quotient() in device/elements.cuh */                         \
  FIELD(s32, zero_point)                                                                     \
  FIELD(s32, lo)                                                                             \
  FIELD(s32, hi)
OCTET_SPEC(RealEnd, REAL_END_FIELDS)

// Pointers; null where the layer has none.
struct RealEndParams {
  const f32* bias;
  const void* residual;
  void* y;
};

}  // namespace octet::cuda
