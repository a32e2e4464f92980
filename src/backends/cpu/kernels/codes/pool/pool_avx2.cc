// SPDX-License-Identifier: Apache-2.0
// Pools of 32 channels at a time.
#include "backends/cpu/kernels/codes/pool/pool_args.h"
#include "backends/cpu/kernels/codes/simd_avx2.h"

namespace octet {
namespace {

// Sums of at most 257 codes fit u16; longer runs are flushed to s32.
constexpr s64 kFlush = 257;

struct Sums {
  __m256i lo, hi;    // u16: in each 128-bit lane 8 channels, and the next 8
  __m256i total[4];  // s32, the order of widen_in_lanes
  s64 pending;
};

inline void flush(Sums& s) {
  const __m256i zero = _mm256_setzero_si256();
  s.total[0] = _mm256_add_epi32(s.total[0], _mm256_unpacklo_epi16(s.lo, zero));
  s.total[1] = _mm256_add_epi32(s.total[1], _mm256_unpackhi_epi16(s.lo, zero));
  s.total[2] = _mm256_add_epi32(s.total[2], _mm256_unpacklo_epi16(s.hi, zero));
  s.total[3] = _mm256_add_epi32(s.total[3], _mm256_unpackhi_epi16(s.hi, zero));
  s.lo = s.hi = zero;
  s.pending = 0;
}

inline void add(Sums& s, __m256i codes) {
  const __m256i zero = _mm256_setzero_si256();
  s.lo = _mm256_add_epi16(s.lo, _mm256_unpacklo_epi8(codes, zero));
  s.hi = _mm256_add_epi16(s.hi, _mm256_unpackhi_epi8(codes, zero));
  if (++s.pending == kFlush) flush(s);
}

inline void finish(const PooledPixel& window, const Sums& s, u8* dst, s64 channels) {
  const EpilogueArgs& e = *window.epilogue;
  const __m256i zero_sum = _mm256_set1_epi32(window.zero_sum);
  __m256 t[4];
  for (int j = 0; j < 4; ++j) {
    const __m256 sum = _mm256_cvtepi32_ps(_mm256_sub_epi32(s.total[j], zero_sum));
    t[j] = _mm256_mul_ps(sum, _mm256_set1_ps(window.multiplier));
    if (e.leaky) t[j] = leaky(t[j], e.alpha);
  }
  store_bytes32(final_codes(e, t), dst, channels);
}

inline void max_pixel(const PooledPixel& window) {
  for (s64 c = 0; c < window.channels; c += 32) {
    const s64 channels = window.channels - c;
    __m256i best = _mm256_setzero_si256();
    for (s64 y = 0; y < window.rows; ++y) {
      const u8* src = window.src + y * window.row_stride + c;
      for (s64 x = 0; x < window.columns; ++x, src += window.column_stride) {
        best = _mm256_max_epu8(best, load_bytes32(src, channels));
      }
    }
    store_bytes32(best, window.dst + c, channels);
  }
}

}  // namespace

void max_pool_u8_avx2(const PooledPixel& window) { each_pixel<max_pixel>(window); }

void average_pool_u8_avx2(const PooledPixel& window) {
  for (s64 c = 0; c < window.channels; c += 32) {
    const s64 channels = window.channels - c;
    const __m256i zero = _mm256_setzero_si256();
    Sums sums{zero, zero, {zero, zero, zero, zero}, 0};
    for (s64 y = 0; y < window.rows; ++y) {
      const u8* src = window.src + y * window.row_stride + c;
      for (s64 x = 0; x < window.columns; ++x, src += window.column_stride) {
        add(sums, load_bytes32(src, channels));
      }
    }
    flush(sums);
    finish(window, sums, window.dst + c, channels);
  }
}

}  // namespace octet
