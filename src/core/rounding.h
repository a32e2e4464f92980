// SPDX-License-Identifier: Apache-2.0
// The scalar arithmetic of docs/numerics.md: every quantized reference operator is written with these functions only.
#pragma once

#include <cmath>

#include "core/types.h"

namespace octet {

// Nearest integer, ties to even. |x| must be below 2^31 (callers clamp first or prove it).
inline s32 rne(f32 x) { return static_cast<s32>(std::nearbyintf(x)); }

// Of positions and of what becomes codes: written max-then-min with the value as first operand, so that NaN becomes `lo` as on
// x86 (maxps).
inline f32 clamp_f32(f32 x, f32 lo, f32 hi) {
  x = x > lo ? x : lo;
  return x < hi ? x : hi;
}

// Of reals that stay reals: NaN passes, and a zero keeps its sign. In x86's terms minps(hi, maxps(lo, x)).
inline f32 bounded(f32 x, f32 lo, f32 hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

inline s32 clamp_s32(s32 x, s32 lo, s32 hi) { return x < lo ? lo : (x > hi ? hi : x); }

// Section 2: q = rne(clamp(x / scale, lo - zp, hi - zp)) + zp; of a quotient that is NaN the code of 0.
inline s32 quantize(f32 x, f32 scale, s32 zero_point, s32 lo, s32 hi) {
  const f32 t = x / scale;
  const f32 number = t == t ? t : 0.0f;
  return rne(clamp_f32(number, static_cast<f32>(lo - zero_point),
                       static_cast<f32>(hi - zero_point))) +
         zero_point;
}

inline f32 dequantize(s32 q, f32 scale, s32 zero_point) {
  return static_cast<f32>(q - zero_point) * scale;
}

// Codes an output may take, and where its zero lies.
struct CodeRange {
  s32 zero_point = 0;
  s32 lo = -128;
  s32 hi = 127;
};

// Sections 3 and 4: y = clamp(rne(t) + zp, lo, hi). The float clamp keeps t within s32 whatever the accumulator was;
// it never changes a result that the integer clamp would keep.
inline s32 requantize(f32 t, const CodeRange& range) {
  const s32 n = rne(clamp_f32(t, -65536.0f, 65536.0f));
  return clamp_s32(n + range.zero_point, range.lo, range.hi);
}

}  // namespace octet
