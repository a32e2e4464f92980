// SPDX-License-Identifier: Apache-2.0
// Blocks of STEP by STEP pixels with few channels become pixels of CELL bytes: channel (dy * STEP + dx) * CHANNELS + c of pixel (h, w) is
// channel c of pixel (STEP * h + dy - PAD_T, STEP * w + dx - PAD_L) of x, or its zero point beyond the image; the rest of a cell is 0.
// Constants: IMAGES, IH, IW, CHANNELS, X_IMAGE, X_ROW, X_PIXEL, ZP_X, STEP, PAD_T, PAD_L, CELL (a multiple of 16), H, W (of the result).
extern "C" __global__ void __launch_bounds__(256) octet_kernel(const __grid_constant__ FoldParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 i = blockIdx.x * 256 + threadIdx.x;
  if (i >= IMAGES * H * W) return;
  const s32 w = i % W, h = i / W % H, n = i / (W * H);
  __align__(16) u8 cell[CELL] = {};
#pragma unroll
  for (s32 dy = 0; dy < STEP; ++dy)
#pragma unroll
    for (s32 dx = 0; dx < STEP; ++dx) {
      const s32 y = h * STEP + dy - PAD_T, x = w * STEP + dx - PAD_L;
      const bool inside = (u32)y < (u32)IH && (u32)x < (u32)IW;
      const u8* from = p.x + (s64)n * X_IMAGE + (s64)y * X_ROW + (s64)x * X_PIXEL;
#pragma unroll
      for (s32 c = 0; c < CHANNELS; ++c) cell[(dy * STEP + dx) * CHANNELS + c] = inside ? from[c] : (u8)(ZP_X & 255);
    }
#pragma unroll
  for (s32 b = 0; b < CELL; b += 16) *(uint4*)(p.y + (s64)i * CELL + b) = *(const uint4*)(cell + b);
}
