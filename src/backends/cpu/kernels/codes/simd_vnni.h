// SPDX-License-Identifier: Apache-2.0
// AVX-512 pieces shared by the _vnni files, all of internal linkage.
// Measured cost decides the shape of the packing: two vpackssdw, one vpackuswb and one permute for four registers take 43
// cycles for 256 codes; max, min and vpmovusdb on each register take 70.
#pragma once

// g++ 12 declares the don't-care operand of many AVX-512 intrinsics as `__m512 y = y` and then warns of it.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <immintrin.h>
#include <string.h>

#include "backends/cpu/kernels/codes/epilogue_args.h"

namespace octet {
namespace {

// acc += sums of four u8 * s8. Written as asm: g++ 12 copies the accumulator around the intrinsic, twice in each step.
inline void dot4(__m512i& acc, __m512i u, __m512i s) {
  asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(s));
}

inline __mmask64 first_lanes64(s64 n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }
inline __mmask16 first_lanes16(s64 n) {
  return n >= 16 ? static_cast<__mmask16>(0xffff)
                 : (n <= 0 ? static_cast<__mmask16>(0) : static_cast<__mmask16>((1u << n) - 1));
}

// Nearest integers. A value above 65536 becomes 65536; one below -2^31, or NaN, the lowest integer (as vcvtps2dq has it);
// packing saturates both to where requantize() clamps them. The constant is the first operand so that NaN passes.
inline __m512i nearest(__m512 t) {
  return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(65536.0f), t));
}

struct CodeLimits {
  __m512i zero_point;  // s16, of finer codes s32
  __m512i lo, hi;      // u8
  bool whole;          // they are those of u8
};

inline CodeLimits code_limits(const EpilogueArgs& e) {
  return {
      e.fine ? _mm512_set1_epi32(e.zero_point) : _mm512_set1_epi16(static_cast<s16>(e.zero_point)),
      _mm512_set1_epi8(static_cast<char>(e.lo)), _mm512_set1_epi8(static_cast<char>(e.hi)),
      e.lo == 0 && e.hi == 255};
}

// Saturates, adds the zero point and clamps. In each 128-bit lane: 4 codes of n0, then of n1, n2, n3.
inline __m512i pack_codes(const __m512i n[4], const CodeLimits& limits) {
  const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(n[0], n[1]), limits.zero_point);
  const __m512i b = _mm512_adds_epi16(_mm512_packs_epi32(n[2], n[3]), limits.zero_point);
  const __m512i codes = _mm512_packus_epi16(a, b);
  return _mm512_min_epu8(_mm512_max_epu8(codes, limits.lo), limits.hi);
}

// Order after pack_codes -> n0's 16 codes, then n1's, n2's, n3's.
inline __m512i in_register_order(__m512i packed) {
  const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  return _mm512_permutexvar_epi32(order, packed);
}

// The inverse of pack_codes' order: bytes of each 128-bit lane go, four at a time, to w0, w1, w2, w3 as u32.
inline void widen_in_lanes(__m512i bytes, __m512i w[4]) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i lo = _mm512_unpacklo_epi8(bytes, zero);
  const __m512i hi = _mm512_unpackhi_epi8(bytes, zero);
  w[0] = _mm512_unpacklo_epi16(lo, zero);
  w[1] = _mm512_unpackhi_epi16(lo, zero);
  w[2] = _mm512_unpacklo_epi16(hi, zero);
  w[3] = _mm512_unpackhi_epi16(hi, zero);
}

inline __m512i look_up(__m512i codes, const u8* table) {
  const __m512i low =
      _mm512_permutex2var_epi8(_mm512_loadu_si512(table), codes, _mm512_loadu_si512(table + 64));
  const __m512i high = _mm512_permutex2var_epi8(_mm512_loadu_si512(table + 128), codes,
                                                _mm512_loadu_si512(table + 192));
  return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(codes), high);
}

// Finer codes and the table's lines, in the order of pack_codes. A product of 16 bits that is rounded is vpmulhrsw: of a slope and 32 times the
// distance, and of a result and 512, which is a 64th of it.
[[gnu::always_inline]] inline __m512i fine_codes(const __m512i n[4], const CodeLimits& limits,
                                                 const u8* table) {
  const __m512i a = _mm512_packus_epi32(_mm512_add_epi32(n[0], limits.zero_point),
                                        _mm512_add_epi32(n[1], limits.zero_point));
  const __m512i b = _mm512_packus_epi32(_mm512_add_epi32(n[2], limits.zero_point),
                                        _mm512_add_epi32(n[3], limits.zero_point));
  const __m512i line = _mm512_packus_epi16(_mm512_srli_epi16(a, 10), _mm512_srli_epi16(b, 10));
  const auto row = [&](int i) {
    return _mm512_permutexvar_epi8(line, _mm512_loadu_si512(table + 64 * i));
  };
  const __m512i base_low = row(0), base_high = row(1), slope_low = row(2), slope_high = row(3);
  const __m512i distance = _mm512_set1_epi16(1023 * 32);
  const __m512i at_a = _mm512_and_si512(_mm512_slli_epi16(a, 5), distance);
  const __m512i at_b = _mm512_and_si512(_mm512_slli_epi16(b, 5), distance);
  const __m512i grown_a = _mm512_mulhrs_epi16(_mm512_unpacklo_epi8(slope_low, slope_high), at_a);
  const __m512i grown_b = _mm512_mulhrs_epi16(_mm512_unpackhi_epi8(slope_low, slope_high), at_b);
  const __m512i y_a = _mm512_adds_epi16(_mm512_unpacklo_epi8(base_low, base_high), grown_a);
  const __m512i y_b = _mm512_adds_epi16(_mm512_unpackhi_epi8(base_low, base_high), grown_b);
  const __m512i part = _mm512_set1_epi16(512);
  const __m512i codes =
      _mm512_packus_epi16(_mm512_mulhrs_epi16(y_a, part), _mm512_mulhrs_epi16(y_b, part));
  return limits.whole ? codes : _mm512_min_epu8(_mm512_max_epu8(codes, limits.lo), limits.hi);
}

// The same out of line, where kernels call it for a few of their results: in line it makes ends so long that g++ 12 calls them, and then keeps all
// sums in memory (3x).
[[gnu::noinline]] inline __m512i fine_codes_apart(const EpilogueArgs& e, __m512i a, __m512i b,
                                                  __m512i c, __m512i d) {
  const __m512i n[4] = {a, b, c, d};
  return fine_codes(n, code_limits(e), e.table);
}

// Codes of rounded sums after the table, if there is one; in the order of pack_codes.
inline __m512i codes_behind_table(const EpilogueArgs& e, const __m512i n[4],
                                  const CodeLimits& limits) {
  if (e.fine) return fine_codes_apart(e, n[0], n[1], n[2], n[3]);
  const __m512i codes = pack_codes(n, limits);
  return e.table != nullptr ? look_up(codes, e.table) : codes;
}

inline __m512 leaky(__m512 t, f32 alpha) {
  const __mmask16 below = _mm512_cmp_ps_mask(t, _mm512_setzero_ps(), _CMP_LT_OQ);
  return _mm512_mask_mul_ps(t, below, t, _mm512_set1_ps(alpha));
}

inline __m512 add_residual(const EpilogueArgs& e, __m512 t, __m512i residual) {
  const __m512i centered = _mm512_sub_epi32(residual, _mm512_set1_epi32(e.residual_zero_point));
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(centered), _mm512_set1_ps(e.residual_multiplier), t);
}

// maxps and minps return their second operand for NaN, as clamp_f32 does.
inline __m512 clip(const EpilogueArgs& e, __m512 t) {
  return _mm512_min_ps(_mm512_max_ps(t, _mm512_set1_ps(e.min)), _mm512_set1_ps(e.max));
}

// The real sum of two operands, each less its zero point.
inline __m512 sum_of(const EpilogueArgs& e, __m512 own, __m512 residual) {
  const __m512 m = _mm512_set1_ps(e.sum.own_multiplier);
  const __m512 r = _mm512_set1_ps(e.residual_multiplier);
  return e.sum.residual_first ? _mm512_fmadd_ps(residual, r, _mm512_mul_ps(own, m))
                              : _mm512_fmadd_ps(own, m, _mm512_mul_ps(residual, r));
}

inline CodeLimits sum_limits(const EpilogueArgs& e) {
  return {_mm512_set1_epi16(static_cast<s16>(e.sum.zero_point)),
          _mm512_set1_epi8(static_cast<char>(e.sum.lo)),
          _mm512_set1_epi8(static_cast<char>(e.sum.hi)), e.sum.lo == 0 && e.sum.hi == 255};
}

// Both operands' codes in one order, which is the result's too.
inline __m512i sum_codes(const EpilogueArgs& e, __m512i own, __m512i residual) {
  const __m512i zero = _mm512_set1_epi32(e.sum.own_zero_point);
  const __m512i residual_zero = _mm512_set1_epi32(e.residual_zero_point);
  __m512i a[4], b[4];
  widen_in_lanes(own, a);
  widen_in_lanes(residual, b);
  for (int v = 0; v < 4; ++v) {
    const __m512 left = _mm512_cvtepi32_ps(_mm512_sub_epi32(a[v], zero));
    const __m512 right = _mm512_cvtepi32_ps(_mm512_sub_epi32(b[v], residual_zero));
    a[v] = nearest(sum_of(e, left, right));
  }
  return pack_codes(a, sum_limits(e));
}

// Both roundings of a sum in registers. Read once, where registers are free: behind a pointer, each store of codes could change
// what stands there.
struct SumConstants {
  __m512 rounder, lo, hi;
  __m512 own, residual;  // multipliers
  __m512 residual_zero;
  __m512i byte_base;
  bool residual_first;

  explicit SumConstants(const EpilogueArgs& e)
      : rounder(_mm512_set1_ps(kRounder)),
        lo(_mm512_set1_ps(e.sum.rounded_lo)),
        hi(_mm512_set1_ps(e.sum.rounded_hi)),
        own(_mm512_set1_ps(e.sum.own_multiplier)),
        residual(_mm512_set1_ps(e.residual_multiplier)),
        residual_zero(_mm512_set1_ps(e.sum.residual_zero)),
        byte_base(_mm512_castps_si512(_mm512_set1_ps(kByteBase))),
        residual_first(e.sum.residual_first) {}

  // The first code of t, bounded, less its zero point: what vcvtps2dq and the bounds of bytes would make, four instructions
  // instead of a way to bytes and back.
  __m512 first_code(__m512 t) const {
    const __m512 n = _mm512_add_ps(t, rounder);
    return _mm512_sub_ps(_mm512_min_ps(_mm512_max_ps(n, lo), hi), rounder);
  }

  // `based`: codes in the lowest bytes of byte_base.
  __m512 sum(__m512 t, __m512i based) const {
    const __m512 a = first_code(t), b = _mm512_sub_ps(_mm512_castsi512_ps(based), residual_zero);
    return residual_first ? _mm512_fmadd_ps(b, residual, _mm512_mul_ps(a, own))
                          : _mm512_fmadd_ps(a, own, _mm512_mul_ps(b, residual));
  }
};

// 16 results and the residual's codes as u32 -> the codes of their sums, before packing.
inline __m512i direct_sum(const SumConstants& k, __m512 t, __m512i residual) {
  return nearest(k.sum(t, _mm512_or_si512(residual, k.byte_base)));
}

// What kernels written for several instruction sets (*_body.h) are made of; the names of simd_avx2.h.
using Ints = __m512i;  // s32, or codes
using Reals = __m512;
constexpr s64 kCodes = 64;  // in a register
using Lanes = __mmask64;    // the first ones
inline Lanes first_codes(s64 n) { return first_lanes64(n); }
inline Ints load_codes(const u8* src, Lanes lanes) { return _mm512_maskz_loadu_epi8(lanes, src); }
inline void store_codes(Ints codes, u8* dst, Lanes lanes) {
  _mm512_mask_storeu_epi8(dst, lanes, codes);
}
inline Ints smaller_codes(Ints a, Ints b) { return _mm512_min_epu8(a, b); }
inline Ints all_codes(u8 code) { return _mm512_set1_epi8(static_cast<char>(code)); }
inline Ints all(s32 x) { return _mm512_set1_epi32(x); }
inline Reals all(f32 x) { return _mm512_set1_ps(x); }
inline Ints no_ints() { return _mm512_setzero_si512(); }
inline Reals to_reals(Ints x) { return _mm512_cvtepi32_ps(x); }
inline Ints add_s32(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
inline Ints sub_s32(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
inline Reals mul_f32(Reals a, Reals b) { return _mm512_mul_ps(a, b); }
inline Reals multiply_add(Reals a, Reals b, Reals c) { return _mm512_fmadd_ps(a, b, c); }
inline Ints add_u16(Ints a, Ints b) { return _mm512_add_epi16(a, b); }
inline Ints low_bytes(Ints x, Ints y) { return _mm512_unpacklo_epi8(x, y); }
inline Ints high_bytes(Ints x, Ints y) { return _mm512_unpackhi_epi8(x, y); }
inline Ints low_words(Ints x, Ints y) { return _mm512_unpacklo_epi16(x, y); }
inline Ints high_words(Ints x, Ints y) { return _mm512_unpackhi_epi16(x, y); }
// The product of codes less their zero points. They lie within +-255: their low 16 bits are all that vpmaddwd needs (the high
// half of `a` meets zeros).
inline Ints code_product(Ints a, Ints b) {
  return _mm512_madd_epi16(a, _mm512_and_si512(b, _mm512_set1_epi32(0xffff)));
}
// Codes of t after the table, if there is one.
inline Ints final_codes(const EpilogueArgs& e, const Reals t[4]) {
  __m512i n[4];
  for (int v = 0; v < 4; ++v) n[v] = nearest(t[v]);
  return codes_behind_table(e, n, code_limits(e));
}

}  // namespace
}  // namespace octet
