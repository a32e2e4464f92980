// SPDX-License-Identifier: Apache-2.0
// What elementwise kernels of f32 read and write, elements from `i` on. The including file includes its vec header before.
#pragma once

#include "backends/cpu/kernels/float/real_type.h"

namespace octet {
namespace {

inline V v_load_real(const void* p, long i, bool) {
  return v_load(static_cast<const float*>(p) + i);
}
inline V v_load_real_n(const void* p, long i, int n, bool) {
  return v_load_n(static_cast<const float*>(p) + i, n);
}
inline void v_store_real(void* p, long i, V x, RealType to) {
  v_store(static_cast<float*>(p) + i, v_rounded(x, to.rounds));
}
inline void v_store_real_n(void* p, long i, V x, int n, RealType to) {
  v_store_n(static_cast<float*>(p) + i, v_rounded(x, to.rounds), n);
}

// Two vectors, one behind the other.
inline void v_store_pair(void* p, long i, V low, V high, RealType to) {
  v_store_real(p, i, low, to);
  v_store_real(p, i + kLanes, high, to);
}

}  // namespace
}  // namespace octet
