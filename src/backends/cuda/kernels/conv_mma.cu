// SPDX-License-Identifier: Apache-2.0
// Convolution of codes as a product of matrices that are never written out: rows are output pixels, columns output channels, k goes
// over taps and, within a tap, over channels. mma.sync m16n8k32, so any GPU from compute capability 8.0 on. Any size, stride,
// dilation, group and zero point: bytes outside the image are the input's zero point.
//
// Constants:
//   x          X_S8, ZP_X, IH, IW, X_IMAGE, X_ROW, X_PIXEL (strides in bytes), CIN (channels of a group), VEC (bytes of one load: divides
//              CIN and every stride)
//   window     R, S, STRIDE_H, STRIDE_W, DIL_H, DIL_W, PAD_T, PAD_L
//   y          M (pixels of all images), OH, OW, COUT (channels of a group), GROUPS, Y_IMAGE, Y_ROW, Y_PIXEL, and RES_... and ADD_... the same
//              three where there are such; OUT_VEC (channels stored at once)
//   tiles      WARPS_M x WARPS_N warps of TILES_M x TILES_N mma tiles, BK bytes of k in a stage (64 or 128), STAGES
// Weights: [group][column tile][k tile][BN rows][BK bytes], rows permuted (below), zeros beyond CIN * R * S and COUT.
#define BM (16 * TILES_M * WARPS_M)
#define BN (8 * TILES_N * WARPS_N)
#define THREADS (32 * WARPS_M * WARPS_N)
#define K_ALL (R * S * CIN)
#define K_TILES ((K_ALL + BK - 1) / BK)
#define N_TILES ((COUT + BN - 1) / BN)
#define CHUNKS (BK / 16)            // of 16 bytes in a row of shared memory
#define A_PIECES (BM * BK / VEC)    // loads of one stage
#define A_EACH ((A_PIECES + THREADS - 1) / THREADS)
#define B_CHUNKS (BN * CHUNKS)
#define STAGE_BYTES ((BM + BN) * BK)

#if VEC == 16
#define copy_async copy_async16
#elif VEC == 8
#define copy_async copy_async8
#elif VEC == 4
#define copy_async copy_async4
#endif

// Chunk `c` of row `r` lies where eight rows that ldmatrix reads at once meet no bank twice.
__device__ __forceinline__ u32 swizzled(u32 r, u32 c) {
  return r * BK + ((c ^ (BK == 128 ? r & 7 : (r >> 1) & 3)) << 4);
}

// One row of A of this thread: an output pixel.
struct Pixel {
  const u8* image;
  s32 h, w;  // of the first tap
};

__device__ __forceinline__ Pixel pixel_of(const u8* x, s32 m) {
  const s32 n = m / (OH * OW), rest = m % (OH * OW);
  Pixel pixel;
  pixel.image = x + (s64)n * X_IMAGE;
  pixel.h = rest / OW * STRIDE_H - PAD_T;
  pixel.w = rest % OW * STRIDE_W - PAD_L;
  return pixel;
}

#define A_PER_ROW (BK / VEC)
#define ROW_STEP (THREADS / A_PER_ROW)  // rows between two loads of a thread

__device__ __forceinline__ void load_a(u8* stage, const Pixel* pixels, s32 m0, s32 k_tile) {
  const s32 piece = threadIdx.x % A_PER_ROW;
  const s32 k = k_tile * BK + piece * VEC;
  const s32 tap = k / CIN, c = k % CIN;
  const s32 dh = tap / S * DIL_H, dw = tap % S * DIL_W;
#pragma unroll
  for (s32 i = 0; i < A_EACH; ++i) {
    const s32 row = threadIdx.x / A_PER_ROW + i * ROW_STEP;
    const s32 h = pixels[i].h + dh, w = pixels[i].w + dw;
    u8* to = stage + swizzled(row, piece * VEC / 16) + piece * VEC % 16;
    const bool inside = k < K_ALL && m0 + row < M && (u32)h < (u32)IH && (u32)w < (u32)IW;
    const u8* from = pixels[i].image + (s64)h * X_ROW + (s64)w * X_PIXEL + c;
#if VEC >= 4
    if (inside) {
      copy_async(to, from);
    } else {
#pragma unroll
      for (s32 b = 0; b < VEC; b += 4) *(u32*)(to + b) = (ZP_X & 255) * 0x01010101u;
    }
#else
#pragma unroll
    for (s32 b = 0; b < VEC; ++b) to[b] = inside ? from[b] : (u8)(ZP_X & 255);
#endif
  }
}

__device__ __forceinline__ void load_b(u8* stage, const s8* weights, s32 k_tile) {
  const s8* from = weights + (s64)k_tile * BN * BK;
#pragma unroll
  for (s32 i = 0; i < (B_CHUNKS + THREADS - 1) / THREADS; ++i) {
    const s32 chunk = threadIdx.x + i * THREADS;
    if (B_CHUNKS % THREADS == 0 || chunk < B_CHUNKS)
      copy_async16(stage + swizzled(chunk / CHUNKS, chunk % CHUNKS), from + chunk * 16);
  }
}

extern __shared__ __align__(128) u8 shared_memory[];

// A thread owns 2 * TILES_N neighbouring channels of a pixel: row 8j + 2q + e of a warp's weights is channel 2 * TILES_N * q + 2j + e.
__device__ __forceinline__ void store_row(const EpilogueParams& p, const u8* table, s32 m, s32 channel,
                                          const s32 (&acc)[TILES_M][TILES_N][4], s32 tile, s32 half) {
  const s32 n = m / (OH * OW), rest = m % (OH * OW), h = rest / OW, w = rest % OW;
  const s32 group = blockIdx.x / N_TILES % GROUPS;
  const s32 c0 = group * COUT;
  const s64 at = (s64)n * Y_IMAGE + (s64)h * Y_ROW + (s64)w * Y_PIXEL + c0;
#if EPI_RESIDUAL
  const s64 res_at = (s64)n * RES_IMAGE + (s64)h * RES_ROW + (s64)w * RES_PIXEL + c0;
#endif
#if EPI_SUM
  const s64 add_at = (s64)n * ADD_IMAGE + (s64)h * ADD_ROW + (s64)w * ADD_PIXEL + c0;
#endif
#pragma unroll
  for (s32 v = 0; v < 2 * TILES_N; v += OUT_VEC) {
    const s32 c = channel + v;
    if (c >= COUT) return;
    u8 residual[OUT_VEC] = {}, addend[OUT_VEC] = {};
#if EPI_RESIDUAL
    load_codes<OUT_VEC>(residual, p.residual + res_at + c);
#endif
#if EPI_SUM
    load_codes<OUT_VEC>(addend, p.addend + add_at + c);
#endif
    u8 codes[OUT_VEC];
#pragma unroll
    for (s32 e = 0; e < OUT_VEC; ++e) {
      const s32 sum = acc[tile][(v + e) / 2][2 * half + (v + e) % 2] + p.bias[c0 + c + e];
      const f32 t = product_real(sum, p.multiplier[c0 + c + e], residual[e]);
#if EPI_REAL
      ((f32*)p.out)[at + c + e] = t;
#else
      codes[e] = (u8)product_code(t, table, addend[e]);
#endif
    }
#if !EPI_REAL
    store_codes<OUT_VEC>(p.out + at + c, codes);
#endif
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ ConvParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const s32 warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;
  const s32 n_tile = blockIdx.x % N_TILES, group = blockIdx.x / N_TILES % GROUPS;
  const s32 m0 = blockIdx.x / (N_TILES * GROUPS) * BM;
  const s8* weights = p.weights + (s64)(group * N_TILES + n_tile) * K_TILES * BN * BK;
  const u8* x = p.x + group * CIN;
  Pixel pixels[A_EACH];
#pragma unroll
  for (s32 i = 0; i < A_EACH; ++i)
    pixels[i] = pixel_of(x, m0 + threadIdx.x / A_PER_ROW + i * ROW_STEP);
#if EPI_TABLE
  u8* table = shared_memory + STAGES * STAGE_BYTES;
  for (s32 i = threadIdx.x; i < 256; i += THREADS) table[i] = p.end.table[i];
#else
  const u8* table = nullptr;
#endif
  s32 acc[TILES_M][TILES_N][4] = {};
#pragma unroll
  for (s32 s = 0; s < STAGES - 1; ++s) {
    if (s < K_TILES) {
      load_a(shared_memory + s * STAGE_BYTES, pixels, m0, s);
      load_b(shared_memory + s * STAGE_BYTES + BM * BK, weights, s);
    }
    copy_async_commit();
  }
  for (s32 k_tile = 0; k_tile < K_TILES; ++k_tile) {
    copy_async_wait<STAGES - 2>();
    __syncthreads();
    const s32 next = k_tile + STAGES - 1;
    if (next < K_TILES) {
      u8* stage = shared_memory + next % STAGES * STAGE_BYTES;
      load_a(stage, pixels, m0, next);
      load_b(stage + BM * BK, weights, next);
    }
    copy_async_commit();
    const u8* a = shared_memory + k_tile % STAGES * STAGE_BYTES;
    const u8* b = a + BM * BK;
#pragma unroll
    for (s32 kk = 0; kk < BK / 32; ++kk) {
      u32 fa[TILES_M][4], fb[TILES_N][2];
#pragma unroll
      for (s32 i = 0; i < TILES_M; ++i)
        ldmatrix4(fa[i], a + swizzled((warp_m * TILES_M + i) * 16 + lane % 16, 2 * kk + lane / 16));
#pragma unroll
      for (s32 j = 0; j < TILES_N; j += 2) {
        u32 four[4];
        ldmatrix4(four, b + swizzled((warp_n * TILES_N + j) * 8 + lane / 16 * 8 + lane % 8, 2 * kk + lane / 8 % 2));
        fb[j][0] = four[0], fb[j][1] = four[1], fb[j + 1][0] = four[2], fb[j + 1][1] = four[3];
      }
#pragma unroll
      for (s32 i = 0; i < TILES_M; ++i)
#pragma unroll
        for (s32 j = 0; j < TILES_N; ++j) {
#if X_S8
          mma_s8s8(acc[i][j], fa[i], fb[j]);
#else
          mma_u8s8(acc[i][j], fa[i], fb[j]);
#endif
        }
    }
  }
#if EPI_TABLE
  __syncthreads();
#endif
  const s32 channel = n_tile * BN + warp_n * TILES_N * 8 + lane % 4 * 2 * TILES_N;
#pragma unroll
  for (s32 i = 0; i < TILES_M; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const s32 m = m0 + (warp_m * TILES_M + i) * 16 + half * 8 + lane / 4;
      if (m < M) store_row(p.end, table, m, channel, acc, i, half);
    }
}
