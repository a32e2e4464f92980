// SPDX-License-Identifier: Apache-2.0
// f32 -> u8. A division takes 11 cycles for 16 values; three multiply-adds, where they give the same codes, with the packing 4.
#include "backends/cpu/kernels/codes/quantize/quantize_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {

namespace {

// max(x, low), but 0, whose code is that of NaN, where x is NaN.
inline __m512 at_least(__m512 x, __m512 low) {
  return _mm512_maskz_max_ps(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x, low);
}

// Whole registers of codes; returns how many.
s64 quantize_near(const QuantizeRun& run) {
  const __m512 scale = _mm512_set1_ps(run.scale), reciprocal = _mm512_set1_ps(run.near.reciprocal);
  const __m512 lowest = _mm512_set1_ps(run.near.lowest), highest = _mm512_set1_ps(run.near.highest);
  const __m512i zero_point = _mm512_set1_epi16(static_cast<s16>(run.zero_point));
  constexpr s64 kAhead = 512;  // values
  s64 i = 0;
  for (; i + 64 <= run.count; i += 64) {
    __m512i n[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      _mm_prefetch(reinterpret_cast<const char*>(run.src + i + kAhead + 16 * v), _MM_HINT_T0);
      const __m512 x = at_least(_mm512_loadu_ps(run.src + i + 16 * v), lowest);
      const __m512 inside = _mm512_min_ps(x, highest);
      const __m512 t = _mm512_mul_ps(inside, reciprocal);
      const __m512 rest = _mm512_fnmadd_ps(t, scale, inside);
      n[v] = _mm512_cvtps_epi32(_mm512_fmadd_ps(rest, reciprocal, t));
    }
    const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(n[0], n[1]), zero_point);
    const __m512i b = _mm512_adds_epi16(_mm512_packs_epi32(n[2], n[3]), zero_point);
    _mm512_storeu_si512(run.dst + i, in_register_order(_mm512_packus_epi16(a, b)));
  }
  return i;
}

}  // namespace

void quantize_f32_u8_vnni(const QuantizeRun& run) {
  const __m512 scale = _mm512_set1_ps(run.scale);
  const __m512 lo = _mm512_set1_ps(static_cast<f32>(-run.zero_point));
  const __m512 hi = _mm512_set1_ps(static_cast<f32>(255 - run.zero_point));
  const __m512i zero_point = _mm512_set1_epi32(run.zero_point);
  for (s64 i = run.near.reciprocal != 0.0f ? quantize_near(run) : 0; i < run.count; i += 16) {
    const __mmask16 mask = first_lanes16(run.count - i);
    const __m512 x = _mm512_maskz_loadu_ps(mask, run.src + i);
    const __m512 t = _mm512_min_ps(at_least(_mm512_div_ps(x, scale), lo), hi);
    const __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(t), zero_point);
    _mm_mask_storeu_epi8(run.dst + i, mask, _mm512_cvtepi32_epi8(q));
  }
}

void dequantize_u8_f32_vnni(const DequantizeRun& run) {
  const __m512 scale = _mm512_set1_ps(run.scale);
  const __m512i zero_point = _mm512_set1_epi32(run.zero_point);
  for (s64 i = 0; i < run.count; i += 16) {
    const __mmask16 mask = first_lanes16(run.count - i);
    const __m512i q = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, run.src + i));
    const __m512 x = _mm512_cvtepi32_ps(_mm512_sub_epi32(q, zero_point));
    _mm512_mask_storeu_ps(run.dst + i, mask, _mm512_mul_ps(x, scale));
  }
}

namespace {

// Where byte j of 64 comes from, for the part-th 64 bytes of 64 pixels: channel (64 * part + j) % 3 of pixel
// (64 * part + j) / 3. Channels 0 and 1 are bytes of two registers, channel 2 is blended in.
struct Interleave3 {
  u8 source[3][64];
  u64 third[3];
};

constexpr Interleave3 make_interleave3() {
  Interleave3 table{};
  for (int part = 0; part < 3; ++part) {
    for (int j = 0; j < 64; ++j) {
      const int byte = 64 * part + j;
      const int channel = byte % 3, pixel = byte / 3;
      table.source[part][j] = static_cast<u8>(channel == 1 ? 64 + pixel : pixel);
      if (channel == 2) table.third[part] |= 1ull << j;
    }
  }
  return table;
}

constexpr Interleave3 kInterleave3 = make_interleave3();

}  // namespace

void interleave3_u8_vnni(const InterleaveRun& run) {
  for (s64 i = 0; i < run.count; i += 64) {
    const s64 pixels = run.count - i;
    const __mmask64 mask = first_lanes64(pixels);
    const __m512i a = _mm512_maskz_loadu_epi8(mask, run.planes + i);
    const __m512i b = _mm512_maskz_loadu_epi8(mask, run.planes + run.stride + i);
    const __m512i c = _mm512_maskz_loadu_epi8(mask, run.planes + 2 * run.stride + i);
    for (int part = 0; part < 3; ++part) {
      const __m512i source = _mm512_loadu_si512(kInterleave3.source[part]);
      const __m512i two = _mm512_permutex2var_epi8(a, source, b);
      const __m512i all = _mm512_mask_permutexvar_epi8(two, kInterleave3.third[part], source, c);
      const s64 left = 3 * pixels - 64 * part;
      _mm512_mask_storeu_epi8(run.dst + 3 * i + 64 * part, first_lanes64(left < 0 ? 0 : left), all);
    }
  }
}

}  // namespace octet
