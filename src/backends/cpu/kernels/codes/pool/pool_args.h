// SPDX-License-Identifier: Apache-2.0
// What one call of a pooling kernel gets: one output pixel, all its channels; of maxima, neighbours with windows of the same
// size. Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/types.h"

namespace octet {

struct PooledPixel {
  const u8* src;      // first element inside the image
  s64 rows, columns;  // elements inside the image, at least one
  s64 row_stride, column_stride;
  s64 channels;
  u8* dst;
  s64 pixels;              // 1 for averages
  s64 src_step, dst_step;  // to the next pixel
  // Averages only: t = float(sum - zero_sum) * multiplier.
  s32 zero_sum;  // zero point * rows * columns
  f32 multiplier;
  const EpilogueArgs* epilogue;
};

namespace {

// For kernels that take pixel by pixel.
template <void (*kPixel)(const PooledPixel&)>
inline void each_pixel(PooledPixel window) {
  for (s64 i = 0; i < window.pixels; ++i) {
    kPixel(window);
    window.src += window.src_step;
    window.dst += window.dst_step;
  }
}

}  // namespace

void max_pool_u8_plain(const PooledPixel& window);
OCTET_X86_64(void, max_pool_u8_avx2, const PooledPixel& window);
OCTET_X86_64(void, max_pool_u8_vnni, const PooledPixel& window);
OCTET_AARCH64(void, max_pool_u8_neon, const PooledPixel& window);
void average_pool_u8_plain(const PooledPixel& window);
OCTET_X86_64(void, average_pool_u8_avx2, const PooledPixel& window);
OCTET_X86_64(void, average_pool_u8_vnni, const PooledPixel& window);
OCTET_AARCH64(void, average_pool_u8_neon, const PooledPixel& window);

}  // namespace octet
