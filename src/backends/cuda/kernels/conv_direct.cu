// SPDX-License-Identifier: Apache-2.0
// Convolution of codes that no other kernel takes: weights of 16 bits, one or three spatial axes. A thread for each output, or for VEC
// neighbouring channels where each reads one channel of its own.
//
// Constants:
//   window           window.cu; X_C, Y_C, RES_C, ADD_C: strides of channels
//   M, CIN, COUT     pixels of all images, channels of a group; CHANNELS: of all groups
//   WEIGHT           s8 or s16; X_S8, ZP_X; VEC: 1 or 4 (then CIN and COUT are 1, and channels lie together)
//   EPI_...          epilogue.cu
// Weights: [channel of x in the group][tap][CHANNELS].
#define THREADS 256

__device__ __forceinline__ void accumulate(s32 (&sums)[VEC], const u8* x, const WEIGHT* weights) {
  __align__(4) u8 codes[VEC];
  WEIGHT w[VEC];
  load_codes<VEC>(codes, x);
#pragma unroll
  for (s32 v = 0; v < VEC; ++v) w[v] = weights[v];
#pragma unroll
  for (s32 v = 0; v < VEC; ++v)
    sums[v] = (s32)((u32)sums[v] + (u32)((code_of(codes[v], X_S8) - ZP_X) * (s32)w[v]));
}

__device__ __forceinline__ void finish(const EpilogueParams& p, const Pixel& pixel, s32 channel, const s32 (&sums)[VEC], const u8* table) {
  const s64 at = OFFSET_OF(pixel, Y) + (s64)channel * Y_C;
  __align__(4) u8 residual[VEC] = {}, addend[VEC] = {};
#if EPI_RESIDUAL
  load_codes<VEC>(residual, p.residual + OFFSET_OF(pixel, RES) + (s64)channel * RES_C);
#endif
#if EPI_SUM
  load_codes<VEC>(addend, p.addend + OFFSET_OF(pixel, ADD) + (s64)channel * ADD_C);
#endif
#if !EPI_REAL
  __align__(4) u8 codes[VEC];
#endif
#pragma unroll
  for (s32 v = 0; v < VEC; ++v) {
    const s32 sum = (s32)((u32)sums[v] + (u32)p.bias[channel + v]);
    const f32 t = product_real(sum, p.multiplier[channel + v], residual[v]);
#if EPI_REAL
    ((f32*)p.out)[at + v] = t;
#else
    codes[v] = (u8)product_code(t, table, addend[v]);
#endif
  }
#if !EPI_REAL
  store_codes<VEC>(p.out + at, codes);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ DirectParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * THREADS, channels = CHANNELS / VEC;
  for (s64 i = (s64)blockIdx.x * THREADS + threadIdx.x; i < channels * M; i += step) {
    // Neighbouring threads have neighbouring outputs in memory.
    const s32 channel = (s32)(Y_C == 1 ? i % channels : i / M) * VEC;
    const Pixel pixel = pixel_of((s32)(Y_C == 1 ? i / channels : i % M));
    const u8* x = p.x + (s64)(channel / COUT) * CIN * X_C;
    const WEIGHT* weights = (const WEIGHT*)p.weights + channel;
    s32 sums[VEC] = {};
    for (s32 tap = 0; tap < TAPS; ++tap) {
      s64 place;
      if (!tap_place(pixel, tap, place)) continue;
      for (s32 c = 0; c < CIN; ++c)
        accumulate(sums, x + place + (s64)c * X_C, weights + ((s64)c * TAPS + tap) * CHANNELS);
    }
    finish(p.end, pixel, channel, sums, p.end.table);
  }
}
