// SPDX-License-Identifier: Apache-2.0
// What one call of a quantize or dequantize kernel gets. Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "core/types.h"

namespace octet {

// Three multiply-adds instead of the division, where they give the same code for every x (near_quotient of quantize.h):
// t = x * reciprocal; t + (x - t * scale) * reciprocal, with x kept between the bounds, both beyond the codes. Zeros: divide.
struct NearQuotient {
  f32 reciprocal = 0.0f;
  f32 lowest = 0.0f;
  f32 highest = 0.0f;
};

// q = rne(clamp(x / scale, lo - zp, hi - zp)) + zp with lo 0 and hi 255: numerics section 2.
struct QuantizeRun {
  const f32* src;
  u8* dst;
  s64 count;
  f32 scale;
  s32 zero_point;
  NearQuotient near = {};
};

struct DequantizeRun {
  const u8* src;
  f32* dst;
  s64 count;
  f32 scale;
  s32 zero_point;
};

// Codes of 16 bits, from `lowest` (0, or -32768 of s16) to `lowest` + 65535.
struct QuantizeWideRun {
  const f32* src;
  u16* dst;
  s64 count;
  f32 scale;
  s32 zero_point;
  s32 lowest;
};

struct DequantizeWideRun {
  const u16* src;
  f32* dst;
  s64 count;
  f32 scale;
  s32 zero_point;
  bool is_signed;
};

// Three planes of codes as pixels of three bytes: dst[3 * i + c] = planes[c * stride + i].
struct InterleaveRun {
  const u8* planes;
  s64 stride;
  u8* dst;
  s64 count;
};

void interleave3_u8_plain(const InterleaveRun& run);
OCTET_X86_64(void, interleave3_u8_vnni, const InterleaveRun& run);
OCTET_AARCH64(void, interleave3_u8_neon, const InterleaveRun& run);
void quantize_f32_u8_plain(const QuantizeRun& run);
OCTET_X86_64(void, quantize_f32_u8_avx2, const QuantizeRun& run);
OCTET_X86_64(void, quantize_f32_u8_vnni, const QuantizeRun& run);
OCTET_AARCH64(void, quantize_f32_u8_neon, const QuantizeRun& run);
void dequantize_u8_f32_plain(const DequantizeRun& run);
OCTET_X86_64(void, dequantize_u8_f32_avx2, const DequantizeRun& run);
OCTET_X86_64(void, dequantize_u8_f32_vnni, const DequantizeRun& run);
OCTET_AARCH64(void, dequantize_u8_f32_neon, const DequantizeRun& run);
OCTET_X86_64(void, quantize_f32_wide_avx2, const QuantizeWideRun& run);
OCTET_X86_64(void, dequantize_wide_f32_avx2, const DequantizeWideRun& run);
OCTET_AARCH64(void, quantize_f32_wide_neon, const QuantizeWideRun& run);
OCTET_AARCH64(void, dequantize_wide_f32_neon, const DequantizeWideRun& run);

}  // namespace octet
