// SPDX-License-Identifier: Apache-2.0
// Pools of 64 channels at a time.
#include "backends/cpu/kernels/pool/pool_args.h"
#include "backends/cpu/kernels/simd_vnni.h"

namespace octet {
namespace {

// Sums of at most 257 codes fit u16; longer runs are flushed to s32.
constexpr s64 kFlush = 257;

struct Sums {
  __m512i lo, hi;    // u16: in each 128-bit lane 8 channels, and the next 8
  __m512i total[4];  // s32, the order of widen_in_lanes
  s64 pending;
};

inline void flush(Sums& s) {
  const __m512i zero = _mm512_setzero_si512();
  s.total[0] = _mm512_add_epi32(s.total[0], _mm512_unpacklo_epi16(s.lo, zero));
  s.total[1] = _mm512_add_epi32(s.total[1], _mm512_unpackhi_epi16(s.lo, zero));
  s.total[2] = _mm512_add_epi32(s.total[2], _mm512_unpacklo_epi16(s.hi, zero));
  s.total[3] = _mm512_add_epi32(s.total[3], _mm512_unpackhi_epi16(s.hi, zero));
  s.lo = s.hi = zero;
  s.pending = 0;
}

inline void add(Sums& s, __m512i codes) {
  const __m512i zero = _mm512_setzero_si512();
  s.lo = _mm512_add_epi16(s.lo, _mm512_unpacklo_epi8(codes, zero));
  s.hi = _mm512_add_epi16(s.hi, _mm512_unpackhi_epi8(codes, zero));
  if (++s.pending == kFlush) flush(s);
}

inline void finish(const PooledPixel& window, const Sums& s, u8* dst, __mmask64 mask) {
  const EpilogueArgs& e = *window.epilogue;
  const __m512i zero_sum = _mm512_set1_epi32(window.zero_sum);
  __m512 t[4];
  for (int j = 0; j < 4; ++j) {
    const __m512 sum = _mm512_cvtepi32_ps(_mm512_sub_epi32(s.total[j], zero_sum));
    t[j] = _mm512_mul_ps(sum, _mm512_set1_ps(window.multiplier));
    if (e.leaky) t[j] = leaky(t[j], e.alpha);
  }
  __m512i codes = codes_of(e, t);
  if (e.table != nullptr) codes = look_up(codes, e.table);
  _mm512_mask_storeu_epi8(dst, mask, codes);
}

}  // namespace

void max_pool_u8_vnni(const PooledPixel& window) {
  for (s64 c = 0; c < window.channels; c += 64) {
    const __mmask64 mask = first_lanes64(window.channels - c);
    __m512i best = _mm512_setzero_si512();
    for (s64 y = 0; y < window.rows; ++y) {
      const u8* src = window.src + y * window.row_stride + c;
      for (s64 x = 0; x < window.columns; ++x, src += window.column_stride) {
        best = _mm512_max_epu8(best, _mm512_maskz_loadu_epi8(mask, src));
      }
    }
    _mm512_mask_storeu_epi8(window.dst + c, mask, best);
  }
}

void average_pool_u8_vnni(const PooledPixel& window) {
  for (s64 c = 0; c < window.channels; c += 64) {
    const __mmask64 mask = first_lanes64(window.channels - c);
    const __m512i zero = _mm512_setzero_si512();
    Sums sums{zero, zero, {zero, zero, zero, zero}, 0};
    for (s64 y = 0; y < window.rows; ++y) {
      const u8* src = window.src + y * window.row_stride + c;
      for (s64 x = 0; x < window.columns; ++x, src += window.column_stride) {
        add(sums, _mm512_maskz_loadu_epi8(mask, src));
      }
    }
    flush(sums);
    finish(window, sums, window.dst + c, mask);
  }
}

}  // namespace octet
