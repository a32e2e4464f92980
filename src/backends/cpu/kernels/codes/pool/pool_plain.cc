// SPDX-License-Identifier: Apache-2.0
// The portable pooling kernels.
#include "backends/cpu/kernels/codes/pool/pool_args.h"
#include "backends/cpu/kernels/codes/scalar_epilogue.h"

namespace octet {

namespace {

void max_pixel(const PooledPixel& window) {
  for (s64 c = 0; c < window.channels; ++c) {
    u8 best = 0;
    for (s64 y = 0; y < window.rows; ++y) {
      const u8* src = window.src + y * window.row_stride + c;
      for (s64 x = 0; x < window.columns; ++x, src += window.column_stride) {
        if (*src > best) best = *src;
      }
    }
    window.dst[c] = best;
  }
}

}  // namespace

void max_pool_u8_plain(const PooledPixel& window) { each_pixel<max_pixel>(window); }

void average_pool_u8_plain(const PooledPixel& window) {
  for (s64 c = 0; c < window.channels; ++c) {
    s32 sum = -window.zero_sum;
    for (s64 y = 0; y < window.rows; ++y) {
      const u8* src = window.src + y * window.row_stride + c;
      for (s64 x = 0; x < window.columns; ++x, src += window.column_stride) sum += *src;
    }
    window.dst[c] = code_of(*window.epilogue, static_cast<f32>(sum) * window.multiplier);
  }
}

}  // namespace octet
