// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose and MatMul of reals. A product of matrices whose rows are output pixels (of MatMul: rows, as pixels of a 1x1
// convolution) and whose columns are output channels; or, DIRECT, a thread for each output in the reference's own order of additions,
// for groups of few channels.
//
// Constants:
//   window            window.cu; X_C, Y_C, RES_C: strides of channels; RES_... where RESIDUAL
//   sizes             M (pixels of all images), CIN, COUT (of a group), GROUPS
//   BATCHES           X(size, stride of x, of weights, of y, of the residual): MatMul's, the last axis first
//   ending            BIAS, RESIDUAL, LEAKY: ALPHA, CLAMP: CLAMP_LO, CLAMP_HI
//   ROWS_EACH         of a thread: 4 or 8; ALONG_K: neighbours of k lie together in x
// Weights: [group][k][COUT], k over taps, then channels; DIRECT: [k][group][COUT], k over channels, then taps.
#define DEPTH (TAPS * CIN)
#define BM (16 * ROWS_EACH)
#define BN 64
#define BK 16
#define THREADS 256
#define N_TILES ((COUT + BN - 1) / BN)
#define M_TILES ((M + BM - 1) / BM)

// Whether the tap meets the image, and what lies there.
__device__ __forceinline__ bool read(const f32* x, const Pixel& pixel, s32 c, s32 tap, f32& value) {
  s64 place;
  const bool inside = tap_place(pixel, tap, place);
  value = inside ? x[place + (s64)c * X_C] : 0.0f;
  return inside;
}

__device__ __forceinline__ f32 ended(f32 sum, const ProductParams& p, s32 channel, s64 residual) {
#if BIAS && !(DIRECT && TRANSPOSED)
  sum = f32_add(sum, p.bias[channel]);
#endif
#if RESIDUAL
  sum = f32_add(sum, p.residual[residual]);
#endif
#if LEAKY
  sum = sum < 0.0f ? f32_mul(sum, ALPHA) : sum;
#elif CLAMP
  sum = bounded(sum, CLAMP_LO, CLAMP_HI);
#endif
  return sum;
}

__device__ __forceinline__ void store(const ProductParams& p, f32* y, const f32* residual, const Pixel& pixel, s32 channel, f32 sum) {
  ProductParams own = p;
  own.residual = residual;
#if RESIDUAL
  const s64 at = OFFSET_OF(pixel, RES) + (s64)channel * RES_C;
#else
  const s64 at = 0;
#endif
  y[OFFSET_OF(pixel, Y) + (s64)channel * Y_C] = ended(sum, own, channel, at);
}

#if DIRECT
extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ ProductParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * THREADS, channels = (s64)GROUPS * COUT;
  for (s64 i = (s64)blockIdx.x * THREADS + threadIdx.x; i < channels * M; i += step) {
    // Neighbouring threads have neighbouring outputs in memory.
    const s32 channel = (s32)(Y_C == 1 ? i % channels : i / M % channels);
    const Pixel pixel = pixel_of((s32)(Y_C == 1 ? i / channels : i % M));
    const f32* x = p.x + (s64)(channel / COUT) * CIN * X_C;
#if TRANSPOSED
    f32 sum = BIAS ? p.bias[channel] : 0.0f;
    for (s32 k = 0; k < DEPTH; ++k) {
      f32 value;
      if (read(x, pixel, k / TAPS, k % TAPS, value)) sum = f32_add(sum, f32_mul(p.weights[k * channels + channel], value));
    }
#else
    f32 lanes[16] = {};
#pragma unroll 1
    for (s32 k0 = 0; k0 < DEPTH; k0 += 16) {
#pragma unroll
      for (s32 j = 0; j < 16; ++j) {
        const s32 k = k0 + j;
        f32 value;
        if (k < DEPTH) {
          read(x, pixel, k / TAPS, k % TAPS, value);
          lanes[j] = f32_add(lanes[j], f32_mul(value, p.weights[k * channels + channel]));
        }
      }
    }
    f32 four[4];
#pragma unroll
    for (s32 j = 0; j < 4; ++j) four[j] = f32_add(f32_add(lanes[j], lanes[j + 8]), f32_add(lanes[j + 4], lanes[j + 12]));
    const f32 sum = f32_add(f32_add(four[0], four[2]), f32_add(four[1], four[3]));
#endif
    store(p, p.y, p.residual, pixel, channel, sum);
  }
}
#else
#define A_EACH (BM * BK / THREADS)
#define B_EACH (BN * BK / THREADS)

__shared__ f32 tile_a[BK][BM + 4], tile_b[BK][BN + 4];

struct Loaded {
  f32 a[A_EACH], b[B_EACH];
};

// Of A, a thread reads one k of several rows, or one row at several k.
#define A_ROW(i) (ALONG_K ? threadIdx.x / BK + (i) * (THREADS / BK) : threadIdx.x % BM)
#define A_STEP(i) (ALONG_K ? threadIdx.x % BK : threadIdx.x / BM + (i) * (THREADS / BM))

__device__ __forceinline__ void load(Loaded& to, const f32* x, const f32* weights, const Pixel* pixels, s32 m0, s32 n0, s32 k0) {
#pragma unroll
  for (s32 i = 0; i < A_EACH; ++i) {
    const s32 k = k0 + A_STEP(i);
    to.a[i] = 0.0f;
    if (k < DEPTH && m0 + A_ROW(i) < M) read(x, pixels[ALONG_K ? i : 0], k % CIN, k / CIN, to.a[i]);
  }
#pragma unroll
  for (s32 i = 0; i < B_EACH; ++i) {
    const s32 k = k0 + threadIdx.x / BN + i * (THREADS / BN), n = n0 + threadIdx.x % BN;
    to.b[i] = k < DEPTH && n < COUT ? weights[(s64)k * COUT + n] : 0.0f;
  }
}

__device__ __forceinline__ void keep(const Loaded& from) {
#pragma unroll
  for (s32 i = 0; i < A_EACH; ++i) tile_a[A_STEP(i)][A_ROW(i)] = from.a[i];
#pragma unroll
  for (s32 i = 0; i < B_EACH; ++i) tile_b[threadIdx.x / BN + i * (THREADS / BN)][threadIdx.x % BN] = from.b[i];
}

__device__ __forceinline__ void multiply(f32 (&acc)[ROWS_EACH][4]) {
  const s32 row = threadIdx.x / 16 * ROWS_EACH, column = threadIdx.x % 16 * 4;
#pragma unroll
  for (s32 k = 0; k < BK; ++k) {
    f32 a[ROWS_EACH];
#pragma unroll
    for (s32 i = 0; i < ROWS_EACH; i += 4) *(float4*)(a + i) = *(const float4*)&tile_a[k][row + i];
    const float4 b = *(const float4*)&tile_b[k][column];
#pragma unroll
    for (s32 i = 0; i < ROWS_EACH; ++i) {
      acc[i][0] = f32_fma(a[i], b.x, acc[i][0]);
      acc[i][1] = f32_fma(a[i], b.y, acc[i][1]);
      acc[i][2] = f32_fma(a[i], b.z, acc[i][2]);
      acc[i][3] = f32_fma(a[i], b.w, acc[i][3]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ ProductParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 n0 = blockIdx.x % N_TILES * BN, group = blockIdx.x / N_TILES % GROUPS;
  const s32 m0 = blockIdx.x / (N_TILES * GROUPS) % M_TILES * BM;
  const f32 *x = p.x + (s64)group * CIN * X_C, *weights = p.weights + (s64)group * DEPTH * COUT, *residual = p.residual;
  f32* y = p.y;
  s64 batch = blockIdx.x / (N_TILES * GROUPS * M_TILES);
#define X(size, of_x, of_weights, of_y, of_residual) \
  x += batch % size * of_x;                          \
  weights += batch % size * of_weights;              \
  y += batch % size * of_y;                          \
  if (RESIDUAL) residual += batch % size * of_residual; \
  batch /= size;
  BATCHES
#undef X
  Pixel pixels[ALONG_K ? A_EACH : 1];
#pragma unroll
  for (s32 i = 0; i < (ALONG_K ? A_EACH : 1); ++i) pixels[i] = pixel_of(m0 + A_ROW(i));
  f32 acc[ROWS_EACH][4] = {};
  Loaded loaded;
  load(loaded, x, weights, pixels, m0, n0, 0);
  for (s32 k0 = 0; k0 < DEPTH; k0 += BK) {
    __syncthreads();
    keep(loaded);
    __syncthreads();
    if (k0 + BK < DEPTH) load(loaded, x, weights, pixels, m0, n0, k0 + BK);
    multiply(acc);
  }
#pragma unroll
  for (s32 i = 0; i < ROWS_EACH; ++i) {
    const s32 m = m0 + threadIdx.x / 16 * ROWS_EACH + i;
    if (m >= M) continue;
    const Pixel pixel = pixel_of(m);
#pragma unroll
    for (s32 j = 0; j < 4; ++j) {
      const s32 n = n0 + threadIdx.x % 16 * 4 + j;
      if (n < COUT) store(p, y, residual, pixel, group * COUT + n, acc[i][j]);
    }
  }
}
#endif
