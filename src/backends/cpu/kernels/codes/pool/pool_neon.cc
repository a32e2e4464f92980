// SPDX-License-Identifier: Apache-2.0
// Pools of 16 channels at a time.
#include "backends/cpu/kernels/codes/simd_neon.h"

#define OCTET_ISA(name) name##_neon
#include "backends/cpu/kernels/codes/pool/average_body.h"

namespace octet {
namespace {

inline void max_pixel(const PooledPixel& window) {
  for (s64 c = 0; c < window.channels; c += 16) {
    const s64 channels = window.channels - c;
    uint8x16_t best = vdupq_n_u8(0);
    for (s64 y = 0; y < window.rows; ++y) {
      const u8* src = window.src + y * window.row_stride + c;
      for (s64 x = 0; x < window.columns; ++x, src += window.column_stride) {
        best = vmaxq_u8(best, load_bytes16(src, channels));
      }
    }
    store_bytes16(best, window.dst + c, channels);
  }
}

}  // namespace

void max_pool_u8_neon(const PooledPixel& window) { each_pixel<max_pixel>(window); }

}  // namespace octet
