// SPDX-License-Identifier: Apache-2.0
// Pools of 32 channels at a time.
#include "backends/cpu/kernels/codes/simd_avx2.h"

#define OCTET_ISA(name) name##_avx2
#include "backends/cpu/kernels/codes/pool/average_body.h"

namespace octet {
namespace {

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

}  // namespace octet
