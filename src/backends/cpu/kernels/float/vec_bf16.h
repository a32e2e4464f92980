// SPDX-License-Identifier: Apache-2.0
// What AVX512_BF16 adds to the words of vec_vnni.h.
#pragma once

#include "backends/cpu/kernels/float/vec_vnni.h"

namespace octet {
namespace {

// The instruction that makes bf16 of f32 rounds as v_round_bf16 does, but makes zeros of subnormals.
inline M v_subnormal(V x) {
  constexpr int kClass = 0x20;
  return _mm512_fpclass_ps_mask(x, kClass);
}
template <int kCount>
__attribute__((always_inline)) inline bool any_subnormal(const V (&values)[kCount]) {
  M any = 0;
#pragma GCC unroll 28
  for (const V& x : values) any |= v_subnormal(x);
  return v_any(any);
}
// Of values without subnormals.
inline __m256i v_halves(V x) { return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)); }
inline __m512i v_halves(V low, V high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

}  // namespace
}  // namespace octet
