// SPDX-License-Identifier: Apache-2.0
// AVX2 pieces shared by the _avx2 files, all of internal linkage.
#pragma once

#include <immintrin.h>
#include <string.h>

#include "backends/cpu/kernels/codes/epilogue_args.h"

namespace octet {
namespace {

// See simd_vnni.h.
inline __m256i nearest(__m256 t) {
  return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(65536.0f), t));
}

inline __m256 leaky(__m256 t, f32 alpha) {
  const __m256 below = _mm256_cmp_ps(t, _mm256_setzero_ps(), _CMP_LT_OQ);
  return _mm256_blendv_ps(t, _mm256_mul_ps(t, _mm256_set1_ps(alpha)), below);
}

inline __m256 add_residual(const EpilogueArgs& e, __m256 t, __m256i residual) {
  const __m256i centered = _mm256_sub_epi32(residual, _mm256_set1_epi32(e.residual_zero_point));
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(centered), _mm256_set1_ps(e.residual_multiplier), t);
}

inline __m256 clip(const EpilogueArgs& e, __m256 t) {
  return _mm256_min_ps(_mm256_max_ps(t, _mm256_set1_ps(e.min)), _mm256_set1_ps(e.max));
}

// Saturates, adds the zero point and clamps, as EpilogueArgs or SumArgs say. In each 128-bit lane: 4 codes of n0, then of
// n1, n2, n3.
template <class Limits>
inline __m256i pack_codes(const Limits& e, const __m256i n[4]) {
  const __m256i zero_point = _mm256_set1_epi16(static_cast<s16>(e.zero_point));
  const __m256i a = _mm256_adds_epi16(_mm256_packs_epi32(n[0], n[1]), zero_point);
  const __m256i b = _mm256_adds_epi16(_mm256_packs_epi32(n[2], n[3]), zero_point);
  const __m256i codes = _mm256_packus_epi16(a, b);
  return _mm256_min_epu8(_mm256_max_epu8(codes, _mm256_set1_epi8(static_cast<char>(e.lo))),
                         _mm256_set1_epi8(static_cast<char>(e.hi)));
}

// The inverse of pack_codes' order: bytes of each 128-bit lane go, four at a time, to w0, w1, w2, w3 as u32.
inline void widen_in_lanes(__m256i bytes, __m256i w[4]) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i lo = _mm256_unpacklo_epi8(bytes, zero);
  const __m256i hi = _mm256_unpackhi_epi8(bytes, zero);
  w[0] = _mm256_unpacklo_epi16(lo, zero);
  w[1] = _mm256_unpackhi_epi16(lo, zero);
  w[2] = _mm256_unpacklo_epi16(hi, zero);
  w[3] = _mm256_unpackhi_epi16(hi, zero);
}

// The codes of the sums of first codes, which final_codes gives, and residuals: all three in one order.
inline __m256i sum_codes(const EpilogueArgs& e, __m256i own, __m256i residual) {
  const __m256i zero = _mm256_set1_epi32(e.sum.own_zero_point);
  const __m256i residual_zero = _mm256_set1_epi32(e.residual_zero_point);
  const __m256 m = _mm256_set1_ps(e.sum.own_multiplier);
  const __m256 r = _mm256_set1_ps(e.residual_multiplier);
  __m256i a[4], b[4];
  widen_in_lanes(own, a);
  widen_in_lanes(residual, b);
  for (int v = 0; v < 4; ++v) {
    const __m256 left = _mm256_cvtepi32_ps(_mm256_sub_epi32(a[v], zero));
    const __m256 right = _mm256_cvtepi32_ps(_mm256_sub_epi32(b[v], residual_zero));
    a[v] = nearest(e.sum.residual_first ? _mm256_fmadd_ps(right, r, _mm256_mul_ps(left, m))
                                        : _mm256_fmadd_ps(left, m, _mm256_mul_ps(right, r)));
  }
  return pack_codes(e.sum, a);
}

// Loads and stores of the first n bytes; AVX2 has no byte masks, and nothing beyond may be touched.
inline __m256i load_bytes32(const u8* src, s64 n) {
  if (n >= 32) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
  alignas(32) u8 bytes[32] = {};
  memcpy(bytes, src, static_cast<size_t>(n));
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes));
}

inline __m128i load_bytes16(const u8* src, s64 n) {
  if (n >= 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
  if (n == 8) return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(src));
  alignas(16) u8 bytes[16] = {};
  memcpy(bytes, src, static_cast<size_t>(n));
  return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
}

template <class T>
inline u8* store_lowest(__m128i x, u8* dst) {
  const s64 value = _mm_cvtsi128_si64(x);
  memcpy(dst, &value, sizeof(T));
  return dst + sizeof(T);
}

inline void store_bytes16(__m128i x, u8* dst, s64 n) {
  if (n >= 16) return _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), x);
  if ((n & 8) != 0) {
    dst = store_lowest<u64>(x, dst);
    x = _mm_srli_si128(x, 8);
  }
  if ((n & 4) != 0) {
    dst = store_lowest<u32>(x, dst);
    x = _mm_srli_si128(x, 4);
  }
  if ((n & 2) != 0) {
    dst = store_lowest<u16>(x, dst);
    x = _mm_srli_si128(x, 2);
  }
  if ((n & 1) != 0) store_lowest<u8>(x, dst);
}

// 256 codes in 16 rows of 16: vpshufb yields zero where the highest bit of the index is set, which saturation arranges for
// all codes outside the row (64 operations for 32 codes; 32 scalar loads with their extractions take twice as long).
inline __m256i look_up(__m256i codes, const u8* table) {
  __m256i found = _mm256_setzero_si256();
#pragma GCC unroll 16
  for (int row = 0; row < 16; ++row) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * row));
    const __m256i index = _mm256_adds_epu8(codes, _mm256_set1_epi8(0x70));
    const __m256i here = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), index);
    found = _mm256_or_si256(found, here);
    codes = _mm256_sub_epi8(codes, _mm256_set1_epi8(16));
    asm("" : "+x"(codes));  // else g++ 12 makes 16 constants
  }
  return found;
}

// Four rows of 64 bytes at once, each in four rows of 16.
inline void look_up_lines(__m256i line, const u8* table, __m256i found[4]) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) found[i] = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (int part = 0; part < 4; ++part) {
    const __m256i index = _mm256_adds_epu8(line, _mm256_set1_epi8(0x70));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const u8* row = table + 64 * i + 16 * part;
      const __m256i values =
          _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row)));
      found[i] = _mm256_or_si256(found[i], _mm256_shuffle_epi8(values, index));
    }
    line = _mm256_sub_epi8(line, _mm256_set1_epi8(16));
  }
}

// See simd_vnni.h.
inline __m256i fine_codes(const EpilogueArgs& e, const __m256i n[4]) {
  const __m256i zero_point = _mm256_set1_epi32(e.zero_point);
  const __m256i a =
      _mm256_packus_epi32(_mm256_add_epi32(n[0], zero_point), _mm256_add_epi32(n[1], zero_point));
  const __m256i b =
      _mm256_packus_epi32(_mm256_add_epi32(n[2], zero_point), _mm256_add_epi32(n[3], zero_point));
  __m256i row[4];
  look_up_lines(_mm256_packus_epi16(_mm256_srli_epi16(a, 10), _mm256_srli_epi16(b, 10)), e.table,
                row);
  const __m256i at_a = _mm256_srli_epi16(_mm256_slli_epi16(a, 6), 1);
  const __m256i at_b = _mm256_srli_epi16(_mm256_slli_epi16(b, 6), 1);
  const __m256i grown_a = _mm256_mulhrs_epi16(_mm256_unpacklo_epi8(row[2], row[3]), at_a);
  const __m256i grown_b = _mm256_mulhrs_epi16(_mm256_unpackhi_epi8(row[2], row[3]), at_b);
  const __m256i y_a = _mm256_adds_epi16(_mm256_unpacklo_epi8(row[0], row[1]), grown_a);
  const __m256i y_b = _mm256_adds_epi16(_mm256_unpackhi_epi8(row[0], row[1]), grown_b);
  const __m256i part = _mm256_set1_epi16(512);
  const __m256i codes =
      _mm256_packus_epi16(_mm256_mulhrs_epi16(y_a, part), _mm256_mulhrs_epi16(y_b, part));
  return _mm256_min_epu8(_mm256_max_epu8(codes, _mm256_set1_epi8(static_cast<char>(e.lo))),
                         _mm256_set1_epi8(static_cast<char>(e.hi)));
}

// Codes of rounded sums after the table, if there is one; in the order of pack_codes.
inline __m256i codes_behind_table(const EpilogueArgs& e, const __m256i n[4]) {
  if (e.fine) return fine_codes(e, n);
  const __m256i codes = pack_codes(e, n);
  return e.table != nullptr ? look_up(codes, e.table) : codes;
}

// Codes of t after the table, if there is one.
inline __m256i final_codes(const EpilogueArgs& e, const __m256 t[4]) {
  const __m256i n[4] = {nearest(t[0]), nearest(t[1]), nearest(t[2]), nearest(t[3])};
  return codes_behind_table(e, n);
}

inline void store_bytes32(__m256i x, u8* dst, s64 n) {
  if (n >= 32) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), x);
  store_bytes16(_mm256_castsi256_si128(x), dst, n);
  if (n > 16) store_bytes16(_mm256_extracti128_si256(x, 1), dst + 16, n - 16);
}

// What kernels written for several instruction sets (*_body.h) are made of; the names of simd_vnni.h.
using Ints = __m256i;  // s32, or codes
using Reals = __m256;
constexpr s64 kCodes = 32;  // in a register
using Lanes = s64;          // as many, from the first
inline Lanes first_codes(s64 n) { return n; }
inline Ints load_codes(const u8* src, Lanes lanes) { return load_bytes32(src, lanes); }
inline void store_codes(Ints codes, u8* dst, Lanes lanes) { store_bytes32(codes, dst, lanes); }
inline Ints smaller_codes(Ints a, Ints b) { return _mm256_min_epu8(a, b); }
inline Ints all_codes(u8 code) { return _mm256_set1_epi8(static_cast<char>(code)); }
inline Ints all(s32 x) { return _mm256_set1_epi32(x); }
inline Reals all(f32 x) { return _mm256_set1_ps(x); }
inline Ints no_ints() { return _mm256_setzero_si256(); }
inline Reals to_reals(Ints x) { return _mm256_cvtepi32_ps(x); }
inline Ints add_s32(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
inline Ints sub_s32(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
inline Reals mul_f32(Reals a, Reals b) { return _mm256_mul_ps(a, b); }
inline Reals multiply_add(Reals a, Reals b, Reals c) { return _mm256_fmadd_ps(a, b, c); }
inline Ints add_u16(Ints a, Ints b) { return _mm256_add_epi16(a, b); }
inline Ints low_bytes(Ints x, Ints y) { return _mm256_unpacklo_epi8(x, y); }
inline Ints high_bytes(Ints x, Ints y) { return _mm256_unpackhi_epi8(x, y); }
inline Ints low_words(Ints x, Ints y) { return _mm256_unpacklo_epi16(x, y); }
inline Ints high_words(Ints x, Ints y) { return _mm256_unpackhi_epi16(x, y); }
// The product of codes less their zero points.
inline Ints code_product(Ints a, Ints b) { return _mm256_mullo_epi32(a, b); }

}  // namespace
}  // namespace octet
