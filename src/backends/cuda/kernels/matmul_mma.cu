// SPDX-License-Identifier: Apache-2.0
// Products of two matrices of codes, both known only when they are multiplied, of any strides: queries by keys, weights of attention
// by values. The kernel multiplies codes as they are (those of b, where they are u8, less 128) and takes sums of rows and columns
// from products by ones:
//   sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + K za zb
// all of it modulo 2^32, and the whole fits.
//
// Constants:
//   SIZE_M, SIZE_N, SIZE_K  of one product; M_TILES, N_TILES
//   A_S8, B_S8          codes are signed; ZP_A, ZP_B their zero points
//   A_ROW, A_K, B_N, B_K, Y_ROW, Y_N: strides; A_VEC, B_VEC: bytes of one load (16, 8, 4 or 1), along whichever axis is dense
//   BATCHES             X(size, stride of a, of b, of y) for each axis of the batch, the last first
//   UNIFORM             columns have one multiplier and no bias
//   EPI_...             epilogue.cu; OUT_VEC: codes stored at once; ADD_COLUMNS: the addend is a row
//   tiles               WARPS_M x WARPS_N warps of TILES_M x TILES_N mma tiles, BK bytes of k in a stage, STAGES
#define BM (16 * TILES_M * WARPS_M)
#define BN (8 * TILES_N * WARPS_N)
#define THREADS (32 * WARPS_M * WARPS_N)
#define K_TILES ((SIZE_K + BK - 1) / BK)
#define STAGE_BYTES ((BM + BN) * BK)
#define OWN_ZP_B (B_S8 ? ZP_B : ZP_B - 128)
#define ONES 0x01010101u

struct RowOfA {
  static const s32 kTile = BM, kRows = SIZE_M, kVec = A_VEC;
  static const s64 kRow = A_ROW, kStep = A_K;
  static const u32 kFill = 0;
  static __device__ __forceinline__ s32 place(s32 row) { return row; }
};
// A thread owns 2 * TILES_N columns of a warp's, 2j + e in row 8j + 2q + e: neighbours, so that it stores many codes at once; of reals four
// neighbours in each 16, so that four threads store 64 bytes.
#if EPI_REAL
#define RUN 4
#else
#define RUN (2 * TILES_N)
#endif
__device__ __forceinline__ s32 column_of(s32 q, s32 own) { return own / RUN * 4 * RUN + RUN * q + own % RUN; }
struct RowOfB {
  static const s32 kTile = BN, kRows = SIZE_N, kVec = B_VEC;
  static const s64 kRow = B_N, kStep = B_K;
  static const u32 kFill = B_S8 ? 0 : 0x80808080u;
  static __device__ __forceinline__ s32 place(s32 row) {
    const s32 in_warp = row % (8 * TILES_N), q = in_warp % (4 * RUN) / RUN, own = in_warp / (4 * RUN) * RUN + in_warp % RUN;
    return row - in_warp + own / 2 * 8 + 2 * q + own % 2;
  }
};

template <s32 kVec>
__device__ __forceinline__ void copy_async(u8* to, const u8* from) {
  if constexpr (kVec == 16) {
    copy_async16(to, from);
  } else if constexpr (kVec == 8) {
    copy_async8(to, from);
  } else {
    copy_async4(to, from);
  }
}

template <class Operand>
__device__ __forceinline__ u8* place_of(u8* tile, s32 row, s32 k) {
  return tile + swizzled(Operand::place(row), k / 16) + k % 16;
}

// Rows whose bytes of k lie together.
template <class Operand>
__device__ __forceinline__ void load_rows(u8* tile, const u8* from, s32 row0, s32 k0) {
  constexpr s32 kVec = Operand::kVec, kEach = BK / kVec, kUnrolled = kVec >= 4 ? 16 : 4;
#pragma unroll kUnrolled
  for (s32 first = 0; first < Operand::kTile * kEach; first += THREADS) {
    const s32 i = first + threadIdx.x;
    if (Operand::kTile * kEach % THREADS != 0 && i >= Operand::kTile * kEach) break;
    const s32 row = i / kEach, k = i % kEach * kVec;
    u8* to = place_of<Operand>(tile, row, k);
    const bool inside = row0 + row < Operand::kRows && k0 + k < SIZE_K;
    const u8* source = from + (s64)(row0 + row) * Operand::kRow + k0 + k;
    if constexpr (kVec >= 4) {
      if (inside) {
        copy_async<kVec>(to, source);
      } else {
#pragma unroll
        for (s32 b = 0; b < kVec; b += 4) *(u32*)(to + b) = Operand::kFill;
      }
    } else {
      *to = inside ? *source : (u8)Operand::kFill;
    }
  }
}

// Bytes of four rows that lie together, of four steps of k: turned in registers.
template <class Operand>
__device__ __forceinline__ void load_columns(u8* tile, const u8* from, s32 row0, s32 k0) {
  constexpr s32 kEach = Operand::kTile / 4;
#pragma unroll
  for (s32 first = 0; first < kEach * (BK / 4); first += THREADS) {
    const s32 i = first + threadIdx.x;
    if (kEach * (BK / 4) % THREADS != 0 && i >= kEach * (BK / 4)) break;
    const s32 row = i % kEach * 4, k = i / kEach * 4;
    u32 w[4];
#pragma unroll
    for (s32 j = 0; j < 4; ++j) {
      const bool inside = row0 + row < Operand::kRows && k0 + k + j < SIZE_K;
      w[j] = inside ? *(const u32*)(from + (row0 + row) + (s64)(k0 + k + j) * Operand::kStep) : Operand::kFill;
    }
    const u32 low0 = __byte_perm(w[0], w[1], 0x5140), low1 = __byte_perm(w[2], w[3], 0x5140);
    const u32 high0 = __byte_perm(w[0], w[1], 0x7362), high1 = __byte_perm(w[2], w[3], 0x7362);
    *(u32*)place_of<Operand>(tile, row, k) = __byte_perm(low0, low1, 0x5410);
    *(u32*)place_of<Operand>(tile, row + 1, k) = __byte_perm(low0, low1, 0x7632);
    *(u32*)place_of<Operand>(tile, row + 2, k) = __byte_perm(high0, high1, 0x5410);
    *(u32*)place_of<Operand>(tile, row + 3, k) = __byte_perm(high0, high1, 0x7632);
  }
}

template <class Operand>
__device__ __forceinline__ void load_bytes(u8* tile, const u8* from, s32 row0, s32 k0) {
  for (s32 i = threadIdx.x; i < Operand::kTile * BK; i += THREADS) {
    // Neighbouring threads read along the axis that is denser.
    constexpr bool kAlongRows = Operand::kRow < Operand::kStep;
    const s32 row = kAlongRows ? i % Operand::kTile : i / BK, k = kAlongRows ? i / Operand::kTile : i % BK;
    const bool inside = row0 + row < Operand::kRows && k0 + k < SIZE_K;
    const s64 at = (row0 + row) * Operand::kRow + (k0 + k) * Operand::kStep;
    *place_of<Operand>(tile, row, k) = inside ? from[at] : (u8)Operand::kFill;
  }
}

template <class Operand>
__device__ __forceinline__ void load_tile(u8* tile, const u8* from, s32 row0, s32 k0) {
  if constexpr (Operand::kStep == 1) {
    load_rows<Operand>(tile, from, row0, k0);
  } else if constexpr (Operand::kRow == 1 && Operand::kVec >= 4) {
    load_columns<Operand>(tile, from, row0, k0);
  } else {
    load_bytes<Operand>(tile, from, row0, k0);
  }
}

struct Accumulators {
  s32 product[TILES_M][TILES_N][4];
  s32 rows[TILES_M][4];     // sums of a, where b has a zero point
  s32 columns[TILES_N][4];  // sums of b, where a has one

  __device__ __forceinline__ static void multiply_a(s32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if A_S8
    mma_s8s8(d, a, b);
#else
    mma_u8s8(d, a, b);
#endif
  }
  __device__ __forceinline__ void multiply(Fragments& f) {
#if !B_S8
#pragma unroll
    for (s32 j = 0; j < TILES_N; ++j) f.b[j][0] ^= 0x80808080u, f.b[j][1] ^= 0x80808080u;
#endif
#pragma unroll
    for (s32 i = 0; i < TILES_M; ++i)
#pragma unroll
      for (s32 j = 0; j < TILES_N; ++j) multiply_a(product[i][j], f.a[i], f.b[j]);
#if OWN_ZP_B != 0
    const u32 ones_b[2] = {ONES, ONES};
#pragma unroll
    for (s32 i = 0; i < TILES_M; ++i) multiply_a(rows[i], f.a[i], ones_b);
#endif
#if ZP_A != 0
    const u32 ones_a[4] = {ONES, ONES, ONES, ONES};
#pragma unroll
    for (s32 j = 0; j < TILES_N; ++j) mma_u8s8(columns[j], ones_a, f.b[j]);
#endif
  }
  __device__ __forceinline__ s32 sum(s32 i, s32 j, s32 half, s32 e) const {
    return (s32)((u32)product[i][j][2 * half + e] - (u32)OWN_ZP_B * (u32)rows[i][2 * half] -
                 (u32)ZP_A * (u32)columns[j][e] + (u32)SIZE_K * (u32)ZP_A * (u32)OWN_ZP_B);
  }
};

// `n0`: the warp's first column; `uniform`: the multiplier of all columns, if they have one.
__device__ __forceinline__ void store_row(const EpilogueParams& p, const u8* table, s64 y, s32 m, s32 n0, f32 uniform,
                                          const Accumulators& acc, s32 i, s32 half) {
#pragma unroll
  for (s32 v = 0; v < 2 * TILES_N; v += OUT_VEC) {
    const s32 n = n0 + column_of(threadIdx.x % 4, v);
    if (n >= SIZE_N) return;
    const s64 at = y + (s64)m * Y_ROW + (s64)n * Y_N;
    __align__(16) u8 residual[OUT_VEC] = {}, addend[OUT_VEC] = {};
#if EPI_REAL
    __align__(16) f32 results[OUT_VEC];
#else
    __align__(16) u8 results[OUT_VEC];
#endif
#if EPI_RESIDUAL
    load_codes<OUT_VEC>(residual, p.residual + at);
#endif
#if EPI_SUM
    load_codes<OUT_VEC>(addend, p.addend + (ADD_COLUMNS ? n : at));
#endif
#pragma unroll
    for (s32 e = 0; e < OUT_VEC; ++e) {
      const s32 bias = UNIFORM ? 0 : p.bias[n + e];
      const s32 sum = (s32)((u32)acc.sum(i, (v + e) / 2, half, (v + e) % 2) + (u32)bias);
      const f32 t = product_real(sum, UNIFORM ? uniform : p.multiplier[n + e], residual[e]);
#if EPI_REAL
      results[e] = t;
#else
      results[e] = (u8)product_code(t, table, addend[e]);
#endif
    }
    store_codes<OUT_VEC * OUT_BYTES>(p.out + at * OUT_BYTES, (const u8*)results);
  }
}

extern __shared__ __align__(128) u8 shared_memory[];

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ MatmulParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const s32 m0 = blockIdx.x / N_TILES % M_TILES * BM, n0 = blockIdx.x % N_TILES * BN;
  s64 batch = blockIdx.x / (N_TILES * M_TILES), y = 0;
  const u8 *a = p.a, *b = p.b;
#define X(size, of_a, of_b, of_y)  \
  a += batch % size * of_a;        \
  b += batch % size * of_b;        \
  y += batch % size * of_y;        \
  batch /= size;
  BATCHES
#undef X
  const u8* table = nullptr;
#if EPI_TABLE
  u8* own_table = shared_memory + STAGES * STAGE_BYTES;
  for (s32 i = threadIdx.x; i < 256; i += THREADS) own_table[i] = p.end.table[i];
  table = own_table;
#endif
  Accumulators acc = {};
#pragma unroll
  for (s32 s = 0; s < STAGES - 1; ++s) {
    if (s < K_TILES) {
      load_tile<RowOfA>(shared_memory + s * STAGE_BYTES, a, m0, s * BK);
      load_tile<RowOfB>(shared_memory + s * STAGE_BYTES + BM * BK, b, n0, s * BK);
    }
    copy_async_commit();
  }
  const f32 uniform = p.end.multiplier[0];
  const s32 row_a = warp % WARPS_M * TILES_M * 16, row_b = warp / WARPS_M * TILES_N * 8;
  for (s32 k_tile = 0; k_tile < K_TILES; ++k_tile) {
    copy_async_wait<STAGES - 2>();
    __syncthreads();
    const s32 next = k_tile + STAGES - 1;
    if (next < K_TILES) {
      u8* stage = shared_memory + next % STAGES * STAGE_BYTES;
      load_tile<RowOfA>(stage, a, m0, next * BK);
      load_tile<RowOfB>(stage + BM * BK, b, n0, next * BK);
    }
    copy_async_commit();
    const u8* tile = shared_memory + k_tile % STAGES * STAGE_BYTES;
#pragma unroll
    for (s32 step = 0; step < BK / 32; ++step) {
      Fragments fragments;
      fragments.load(tile, row_a, tile + BM * BK, row_b, step);
      acc.multiply(fragments);
    }
  }
  __syncthreads();
#pragma unroll
  for (s32 i = 0; i < TILES_M; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const s32 m = m0 + row_a + i * 16 + half * 8 + lane / 4;
      if (m < SIZE_M) store_row(p.end, table, y, m, n0 + row_b, uniform, acc, i, half);
    }
}
