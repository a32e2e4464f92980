// SPDX-License-Identifier: Apache-2.0
// f32_ends.h where values may be stored as bf16 (`half`), to which what is stored so is rounded. The including file includes vec_bf16.h before.
#pragma once

#include "backends/cpu/kernels/float/real_type.h"

namespace octet {
namespace {

inline V v_load_real(const void* p, long i, bool half) {
  return half ? v_load(static_cast<const Bf16*>(p) + i) : v_load(static_cast<const float*>(p) + i);
}
inline V v_load_real_n(const void* p, long i, int n, bool half) {
  return half ? v_load_n(static_cast<const Bf16*>(p) + i, n)
              : v_load_n(static_cast<const float*>(p) + i, n);
}
inline __m256i v_any_halves(V x) {
  return __builtin_expect(v_any(v_subnormal(x)), 0) ? v_upper_halves(v_round_bf16(x)) : v_halves(x);
}
inline void v_store_real(void* p, long i, V x, RealType to) {
  if (!to.half) return v_store(static_cast<float*>(p) + i, v_rounded(x, to.rounds));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(static_cast<Bf16*>(p) + i), v_any_halves(x));
}
inline void v_store_real_n(void* p, long i, V x, int n, RealType to) {
  if (!to.half) return v_store_n(static_cast<float*>(p) + i, v_rounded(x, to.rounds), n);
  _mm256_mask_storeu_epi16(static_cast<Bf16*>(p) + i, v_first(n), v_any_halves(x));
}

// Two vectors, one behind the other.
inline void v_store_pair(void* p, long i, V low, V high, RealType to) {
  const bool rare = v_any(v_subnormal(low) | v_subnormal(high));
  if (to.half && __builtin_expect(!rare, 1)) {
    _mm512_storeu_si512(static_cast<Bf16*>(p) + i, v_halves(low, high));
  } else {
    v_store_real(p, i, low, to);
    v_store_real(p, i + kLanes, high, to);
  }
}

}  // namespace
}  // namespace octet
