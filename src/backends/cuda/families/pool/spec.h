// SPDX-License-Identifier: Apache-2.0
// Largest value or average of each window of an image: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/code_end.h"
#include "backends/cuda/device/element_type.h"
#include "backends/cuda/device/pool_window.h"

namespace octet::cuda::pool {

enum class Kind : s32 {
  largest,
  average_codes,  // t = (sum - taps * zero_point) * multiplier, then `end`
  average         // the sum over the divisor; 0 where that is 0
};

#define POOL_FIELDS(FIELD)                                                                 \
  FIELD(Kind, kind)                                                                        \
  FIELD(ElementType, in)                                                                   \
  FIELD(ElementType, out)                                                                  \
  FIELD(ElementType, rounded) /* averages of reals are rounded to it; f32: they are not */ \
  FIELD(PoolWindow, window)                                                                \
  FIELD(s64, images)                                                                       \
  FIELD(s32, channels)                                                                     \
  FIELD(s32, vector) /* channels that a thread takes; it divides `channels` */             \
  FIELD(s32, access) /* bytes of one load or store */                                      \
  FIELD(PixelStrides, x)                                                                   \
  FIELD(PixelStrides, y)                                                                   \
  FIELD(s32, zero_point)         /* of x */                                                \
  FIELD(bool, multiplier_varies) /* Params::multipliers has one for each pixel of y */     \
  FIELD(F32Bits, multiplier)     /* or divisor, the same for all */                        \
  FIELD(CodeEndSpec, end)
OCTET_SPEC(Spec, POOL_FIELDS)

#define POOL_RULES(RULE) RULE(s.channels % s.vector == 0, "a thread's channels are of one pixel")
OCTET_RULES(Spec, POOL_RULES)

constexpr s32 kThreads = 256;

constexpr s32 vectors(const Spec& s) { return s.channels / s.vector; }  // of a pixel
constexpr s32 pixels(const Spec& s) { return s.window.out_h * s.window.out_w; }
constexpr s64 count(const Spec& s) { return s.images * pixels(s) * vectors(s); }
// Loops over taps that are written out.
constexpr s32 kUnrolledTaps = 32;
constexpr s32 unrolled_rows(const Spec& s) {
  return s64{s.window.taps_h} * s.window.taps_w <= kUnrolledTaps ? s.window.taps_h : 1;
}
constexpr s32 unrolled_columns(const Spec& s) {
  return s.window.taps_w <= kUnrolledTaps ? s.window.taps_w : 1;
}

struct Params {
  const void* x;
  const f32* multipliers;
  void* y;
};

}  // namespace octet::cuda::pool
