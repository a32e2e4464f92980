// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/recurrent_codes.h"
#include "backends/cpu/kernels/float/vec_vnni.h"

namespace octet {
namespace {

constexpr int kMostBlocks = 4;  // by several vectors

inline I i_load(const void* p) { return _mm512_loadu_si512(p); }
inline I add_products(I sum, I codes, I weights) {
  return _mm512_dpbusd_epi32(sum, codes, weights);
}

// Integral reals of 0 to 255.
inline void store_codes(int* out, long i, V x) {
  v_store_codes_n(reinterpret_cast<unsigned char*>(out) + i, x, kLanes);
}

inline void place(int* out, const unsigned char* codes, long count) {
  if (count % 4 != 0) out[count / 4] = 0;
  __builtin_memcpy(out, codes, static_cast<unsigned long>(count));
}

}  // namespace
}  // namespace octet

#define OCTET_ISA(name) name##_vnni
#include "backends/cpu/kernels/float/recurrent_codes_body.h"
