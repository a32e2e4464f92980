// SPDX-License-Identifier: Apache-2.0
// Codes of a Softmax: each power of a row over their sum, quantized. A kernel names how:
//   const Shares<PartOf<Made, &Spec::shares>> shares(sum);
// What is called seldom, and by code that is unrolled far, are functions of SeldomShares, or of a struct that the kernel names in its place.
#pragma once

#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/quantization.h"

namespace octet::cuda {

template <class Own>
struct SeldomShares;

// Of a row. A power times `factor` differs from both quotients by less than 2^-22 of itself.
template <class Own, class Seldom = SeldomShares<Own>>
struct Shares {
  static constexpr Quantization q = Own::spec();
  f32 sum, factor;

  __device__ __forceinline__ explicit Shares(f32 sum_of_row) : sum(sum_of_row), factor(f32_div(1.0f, f32_mul(sum_of_row, value_of(q.scale)))) {}
  // Wherever a code is not beyond doubt, all is divided; so it is where a sum is NaN or a scale extreme.
  __device__ __forceinline__ u8 code(f32 power) const {
    const f32 magic = 0x1.8p+23f;
    const f32 guess = f32_fma(power, factor, magic);
    const f32 rest = f32_fma(power, factor, -f32_sub(guess, magic));
    if (!(fabsf(rest) < f32_fma(factor, -0x1p-21f, 0.5f - 0x1p-20f))) return Seldom::exact_code(power, sum);
    const f32 capped = fminf(guess, magic + (f32)(q.hi - q.zero_point));
    return (u8)(bits_of(q.lo > q.zero_point ? fmaxf(capped, magic + (f32)(q.lo - q.zero_point)) : capped) + q.zero_point);
  }
};

// Codes of a row, four to a word.
template <class Own, class Seldom = SeldomShares<Own>>
struct ShareWords {
  static constexpr Quantization q = Own::spec();
  f32 sum, low, high;
  f32 most;     // powers of this and more have the last code: 1/4 beyond it, so that neither factor rounds to another
  bool plain;   // products with either factor tell codes, of powers up to `most`
  bool beyond;  // but a power of the row may be more

  __device__ __forceinline__ explicit ShareWords(f32 sum_of_row) : sum(sum_of_row) {
    const f32 factor = Shares<Own, Seldom>(sum).factor, last = (f32)(q.hi - q.zero_point) + 0.25f;
    low = f32_mul(factor, 1.0f - 0x1p-20f), high = f32_mul(factor, 1.0f + 0x1p-20f);
    most = f32_mul(f32_mul(sum, value_of(q.scale)), last);
    plain = q.lo <= q.zero_point && high > 0x1p-100f && high < 0x1p100f;
    beyond = plain && !(high < last);
  }
  static __device__ __forceinline__ u32 word(const f32 (&powers)[4], f32 factor) {
    const f32 magic = 0x1.8p+23f;
    const u32 low = __byte_perm(bits_of(f32_fma(powers[0], factor, magic)), bits_of(f32_fma(powers[1], factor, magic)), 0x0040);
    const u32 high = __byte_perm(bits_of(f32_fma(powers[2], factor, magic)), bits_of(f32_fma(powers[3], factor, magic)), 0x0040);
    return __byte_perm(low, high, 0x5410);
  }
  // Words by a little less and by a little more than the quotient: where both are one code it is that of the quotient.
  template <s32 kWords>
  __device__ __forceinline__ void find_codes(const f32 (&powers)[kWords][4], u32 (&codes)[kWords]) const {
    u32 differ = !plain;
#pragma unroll
    for (s32 i = 0; i < kWords; ++i) {
      codes[i] = word(powers[i], low);
      differ |= codes[i] ^ word(powers[i], high);
      // Bytes are added without carries.
      const u32 zero_points = (q.zero_point & 255) * 0x01010101u;
      if (q.zero_point != 0) codes[i] = ((codes[i] & 0x7f7f7f7fu) + (zero_points & 0x7f7f7f7fu)) ^ ((codes[i] ^ zero_points) & 0x80808080u);
    }
    if (differ == 0) return;
#pragma unroll
    for (s32 i = 0; i < kWords; ++i) codes[i] = Seldom::slow_codes(powers[i][0], powers[i][1], powers[i][2], powers[i][3], sum);
  }
};

template <class Own>
struct SeldomShares {
  static __device__ __noinline__ u8 exact_code(f32 power, f32 sum) {
    constexpr Quantization q = Own::spec();
    return (u8)quantized(f32_div(power, sum), value_of(q.scale), value_of(q.reciprocal), q.zero_point, q.lo, q.hi);
  }
  static __device__ __noinline__ u32 slow_codes(f32 a, f32 b, f32 c, f32 d, f32 sum) {
    const Shares<Own> shares(sum);
    return shares.code(a) | shares.code(b) << 8 | shares.code(c) << 16 | (u32)shares.code(d) << 24;
  }
};

}  // namespace octet::cuda
