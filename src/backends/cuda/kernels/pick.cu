// SPDX-License-Identifier: Apache-2.0
// Channels picked from the pixels of up to eight images. Constants:
//   ELEMENT, VEC, ACCESS  a thread makes VEC channels of one pixel, stored ACCESS bytes at a time
//   COUNT, C              vectors in all, channels of y; VEC divides C
//   OH, OW, Y_IMAGE, Y_ROW, Y_PIXEL;  INPUTS: X(number, its strides of images, rows, pixels) for each
// p.picks: for each channel of y its input << 24 | channel.
#define THREADS 256
#define VECTORS (C / VEC)

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ PickParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * THREADS;
  for (s64 at = (s64)blockIdx.x * THREADS + threadIdx.x; at < COUNT; at += step) {
    const s32 c = (s32)(at % VECTORS) * VEC, pixel = (s32)(at / VECTORS % (OH * OW));
    const s64 image = at / ((s64)VECTORS * OH * OW);
    const s32 h = pixel / OW, w = pixel % OW;
    Values<ELEMENT, VEC> y;
#pragma unroll
    for (s32 e = 0; e < VEC; ++e) {
      const u32 pick = p.picks[c + e];
#define X(number, image_stride, row_stride, pixel_stride) \
  if (pick >> 24 == number)                                \
    y.at[e] = ((const ELEMENT*)p.x[number])[image * image_stride + (s64)h * row_stride + (s64)w * pixel_stride + (pick & 0xffffff)];
      INPUTS
#undef X
    }
    store_values<ACCESS>((ELEMENT*)p.y + image * Y_IMAGE + (s64)h * Y_ROW + (s64)w * Y_PIXEL + c, y);
  }
}
