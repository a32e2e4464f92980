// SPDX-License-Identifier: Apache-2.0
// Largest codes of large windows: a block has sixteen channels of an image in shared memory, and takes the largest along rows, then along columns.
// Constants: S8, C (a multiple of 16), IH, IW, OH, OW, R, S, STRIDE_H, STRIDE_W, DIL_H, DIL_W, PAD_T, PAD_L; X_IMAGE, X_ROW, X_PIXEL, Y_...:
// multiples of 16.
#define THREADS 256

extern __shared__ uint4 pixels[];  // of x, then of its rows' largest

// `count` taps `step` apart, those inside.
__device__ __forceinline__ uint4 largest(const uint4* from, s32 first, s32 dilation, s32 count, s32 size, s32 step) {
  const u32 lowest = S8 ? 0x80808080u : 0;
  uint4 best = {lowest, lowest, lowest, lowest};
  for (s32 i = 0; i < count; ++i) {
    const s32 at = first + i * dilation;
    if ((u32)at >= (u32)size) continue;
    const uint4 codes = from[at * step];
    best.x = larger_codes<S8>(best.x, codes.x), best.y = larger_codes<S8>(best.y, codes.y);
    best.z = larger_codes<S8>(best.z, codes.z), best.w = larger_codes<S8>(best.w, codes.w);
  }
  return best;
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ PoolParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 image = blockIdx.x / (C / 16), c = blockIdx.x % (C / 16) * 16;
  const u8* x = (const u8*)p.x + (s64)image * X_IMAGE + c;
  uint4* rows = pixels + IH * IW;
  for (s32 i = threadIdx.x; i < IH * IW; i += THREADS) pixels[i] = *(const uint4*)(x + (s64)(i / IW) * X_ROW + (s64)(i % IW) * X_PIXEL);
  __syncthreads();
  for (s32 i = threadIdx.x; i < IH * OW; i += THREADS)
    rows[i] = largest(pixels + i / OW * IW, i % OW * STRIDE_W - PAD_L, DIL_W, S, IW, 1);
  __syncthreads();
  u8* y = (u8*)p.y + (s64)image * Y_IMAGE + c;
  for (s32 i = threadIdx.x; i < OH * OW; i += THREADS)
    *(uint4*)(y + (s64)(i / OW) * Y_ROW + (s64)(i % OW) * Y_PIXEL) = largest(rows + i % OW, i / OW * STRIDE_H - PAD_T, DIL_H, R, IH, OW);
}
