// SPDX-License-Identifier: Apache-2.0
// Largest value or average of each window of an nhwc image: a thread takes VEC channels of one pixel of the output.
// Constants:
//   ELEMENT, OUT, S8     types of x and y; CODES: they are codes, four to a word, where VEC is a multiple of four; S8: signed ones
//   MAX                  1: the largest; 0: the average
//   COUNT                vectors of y in all; C; VEC divides it; ACCESS: bytes of one load or store
//   IH, IW, OH, OW, R, S, STRIDE_H, STRIDE_W, DIL_H, DIL_W, PAD_T, PAD_L;  X_IMAGE, X_ROW, X_PIXEL, Y_... in elements
//   LOWEST               what the largest of none is
//   ZP, MULTIPLIER, CODE average of codes: t = (sum - taps * ZP) * MULTIPLIER, which is p.multipliers[pixel] where it varies; CODE(t)
//   DIVISOR              average of reals: a constant, or p.multipliers[pixel]
#define THREADS 256
#define VECTORS (C / VEC)
#define WORDS (VEC / 4)

// Pairs of 16 bits. The high bytes decide, so a code's neighbour below it does not matter.
#ifdef OCTET_EMULATED
static inline u32 max_pairs(u32 a, u32 b) {
  u32 result = 0;
  for (int i = 0; i < 32; i += 16) {
    const u16 x = (u16)(a >> i), y = (u16)(b >> i);
    const bool first = S8 ? (s16)x > (s16)y : x > y;
    result |= (u32)(first ? x : y) << i;
  }
  return result;
}
#else
__device__ __forceinline__ u32 max_pairs(u32 a, u32 b) {
#if S8
  return __vmaxs2(a, b);
#else
  return __vmaxu2(a, b);
#endif
}
#endif

#if CODES && MAX
struct Window {
  u32 even[WORDS], odd[WORDS];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < WORDS; ++i) even[i] = odd[i] = S8 ? 0x80808080u : 0;
  }
  __device__ __forceinline__ void add(const Values<ELEMENT, VEC>& x) {
#pragma unroll
    for (s32 i = 0; i < WORDS; ++i) {
      const u32 word = ((const u32*)x.at)[i];
      even[i] = max_pairs(even[i], word << 8);
      odd[i] = max_pairs(odd[i], word);
    }
  }
  __device__ __forceinline__ void end(Values<OUT, VEC>& y, s32, f32) const {
#pragma unroll
    for (s32 i = 0; i < WORDS; ++i) ((u32*)y.at)[i] = __byte_perm(even[i], odd[i], 0x7351);
  }
};
#elif MAX
struct Window {
  ELEMENT best[VEC];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) best[i] = LOWEST;
  }
  __device__ __forceinline__ void add(const Values<ELEMENT, VEC>& x) {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) best[i] = x.at[i] > best[i] || x.at[i] != x.at[i] ? x.at[i] : best[i];  // NaN wins
  }
  __device__ __forceinline__ void end(Values<OUT, VEC>& y, s32, f32) const {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) y.at[i] = best[i];
  }
};
#elif CODES && R * S <= 257
// Sums of up to 257 bytes fit 16 bits; signed codes are summed with 128 added.
struct Window {
  u32 even[WORDS], odd[WORDS];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < WORDS; ++i) even[i] = odd[i] = 0;
  }
  __device__ __forceinline__ void add(const Values<ELEMENT, VEC>& x) {
#pragma unroll
    for (s32 i = 0; i < WORDS; ++i) {
      const u32 word = ((const u32*)x.at)[i] ^ (S8 ? 0x80808080u : 0);
      even[i] += word & 0x00ff00ffu;
      odd[i] += word >> 8 & 0x00ff00ffu;
    }
  }
  __device__ __forceinline__ void end(Values<OUT, VEC>& y, s32 taps, f32 multiplier) const {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) {
      const u32 pair = i % 2 == 0 ? even[i / 4] : odd[i / 4];
      const s32 sum = (s32)(i % 4 < 2 ? pair & 0xffff : pair >> 16) - taps * (ZP + (S8 ? 128 : 0));
      const f32 t = f32_mul(f32_of(sum), multiplier);
      y.at[i] = (OUT)(CODE);
    }
  }
};
#elif CODE_SUMS
struct Window {
  s32 sum[VEC];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) sum[i] = 0;
  }
  __device__ __forceinline__ void add(const Values<ELEMENT, VEC>& x) {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) sum[i] += x.at[i];
  }
  __device__ __forceinline__ void end(Values<OUT, VEC>& y, s32 taps, f32 multiplier) const {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) {
      const f32 t = f32_mul(f32_of(sum[i] - taps * ZP), multiplier);
      y.at[i] = (OUT)(CODE);
    }
  }
};
#else
struct Window {
  f32 sum[VEC];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) sum[i] = 0.0f;
  }
  __device__ __forceinline__ void add(const Values<ELEMENT, VEC>& x) {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) sum[i] = f32_add(sum[i], x.at[i]);
  }
  __device__ __forceinline__ void end(Values<OUT, VEC>& y, s32, f32 divisor) const {
#pragma unroll
    for (s32 i = 0; i < VEC; ++i) y.at[i] = divisor == 0.0f ? 0.0f : f32_div(sum[i], divisor);
  }
};
#endif

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ PoolParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * THREADS;
  for (s64 at = (s64)blockIdx.x * THREADS + threadIdx.x; at < COUNT; at += step) {
    const s32 c = (s32)(at % VECTORS) * VEC;
    const s32 pixel = (s32)(at / VECTORS % (OH * OW));
    const s64 image = at / ((s64)VECTORS * OH * OW);
    const s32 h0 = pixel / OW * STRIDE_H - PAD_T, w0 = pixel % OW * STRIDE_W - PAD_L;
    const ELEMENT* x = (const ELEMENT*)p.x + image * X_IMAGE + c;
    Window window;
    window.begin();
    s32 taps = 0;
#pragma unroll UNROLL_R
    for (s32 r = 0; r < R; ++r) {
      const s32 h = h0 + r * DIL_H;
      if ((u32)h >= (u32)IH) continue;
#pragma unroll UNROLL_S
      for (s32 s = 0; s < S; ++s) {
        const s32 w = w0 + s * DIL_W;
        if ((u32)w >= (u32)IW) continue;
        Values<ELEMENT, VEC> values;
        load_values<ACCESS>(values, x + (s64)h * X_ROW + (s64)w * X_PIXEL);
        window.add(values);
        ++taps;
      }
    }
    Values<OUT, VEC> y;
    window.end(y, taps, MULTIPLIER);
    store_values<ACCESS>((OUT*)p.y + image * Y_IMAGE + (s64)(pixel / OW) * Y_ROW + (s64)(pixel % OW) * Y_PIXEL + c, y);
  }
}
