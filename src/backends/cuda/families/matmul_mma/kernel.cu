// SPDX-License-Identifier: Apache-2.0
// Products of two matrices of codes, both known only when they are multiplied, of any strides: queries by keys, weights of attention
// by values. The kernel multiplies codes as they are (those of b, where they are u8, less 128) and takes sums of rows and columns
// from products by ones:
//   sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + K za zb
// all of it modulo 2^32, and the whole fits.
#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/epilogue.cuh"

using namespace octet::cuda;
using namespace octet::cuda::matmul_mma;

constexpr Spec s = Made::spec();
MATMUL_MMA_RULES(OCTET_RULE_ASSERT)

using End = Epilogue<PartOf<Made, &Spec::end>>;

constexpr s32 kBm = bm(s), kBn = bn(s), kBk = s.bk, kThreads = threads(s), kRun = run_of(s);
constexpr s32 kKTiles = k_tiles(s), kMTiles = m_tiles(s), kNTiles = n_tiles(s), kStageBytes = stage_bytes(s);
constexpr s32 kTilesM = s.tiles_m, kTilesN = s.tiles_n, kZeroPointA = s.a_zero_point, kZeroPointB = own_zero_point_b(s);
constexpr u32 kOnes = 0x01010101u;

// Chunk `c` (16 bytes) of row `r` lies where eight rows that ldmatrix reads at once meet no bank twice.
__device__ __forceinline__ u32 swizzled(u32 r, u32 c) {
  return r * kBk + ((c ^ (kBk == 128 ? r & 7 : (r >> 1) & 3)) << 4);
}

// What a warp multiplies in 32 bytes of k.
struct Fragments {
  u32 a[kTilesM][4], b[kTilesN][2];

  // `a` and `b`: the tiles; the warp's first rows of each; which 32 bytes.
  __device__ __forceinline__ void load(const u8* tile_a, s32 row_a, const u8* tile_b, s32 row_b, s32 step) {
    const s32 lane = threadIdx.x % 32;
#pragma unroll
    for (s32 i = 0; i < kTilesM; ++i)
      ldmatrix4(a[i], tile_a + swizzled(row_a + i * 16 + lane % 16, 2 * step + lane / 16));
#pragma unroll
    for (s32 j = 0; j < kTilesN; j += 2) {
      u32 four[4];
      ldmatrix4(four, tile_b + swizzled(row_b + j * 8 + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
      b[j][0] = four[0], b[j][1] = four[1], b[j + 1][0] = four[2], b[j + 1][1] = four[3];
    }
  }
};

struct RowOfA {
  static constexpr s32 kTile = kBm, kRows = s.m, kVec = s.a_access;
  static constexpr s64 kRow = s.a_row, kStep = s.a_k;
  static constexpr u32 kFill = 0;
  static __device__ __forceinline__ s32 place(s32 row) { return row; }
};
__device__ __forceinline__ s32 column_of(s32 q, s32 own) { return own / kRun * 4 * kRun + kRun * q + own % kRun; }
struct RowOfB {
  static constexpr s32 kTile = kBn, kRows = s.n, kVec = s.b_access;
  static constexpr s64 kRow = s.b_n, kStep = s.b_k;
  static constexpr u32 kFill = s.b_signed ? 0 : 0x80808080u;
  static __device__ __forceinline__ s32 place(s32 row) {
    const s32 in_warp = row % (8 * kTilesN), q = in_warp % (4 * kRun) / kRun, own = in_warp / (4 * kRun) * kRun + in_warp % kRun;
    return row - in_warp + own / 2 * 8 + 2 * q + own % 2;
  }
};

template <class Operand>
__device__ __forceinline__ u8* place_of(u8* tile, s32 row, s32 k) {
  return tile + swizzled(Operand::place(row), k / 16) + k % 16;
}

// Rows whose bytes of k lie together.
template <class Operand>
__device__ __forceinline__ void load_rows(u8* tile, const u8* from, s32 row0, s32 k0) {
  constexpr s32 kVec = Operand::kVec, kEach = kBk / kVec, kUnrolled = kVec >= 4 ? 16 : 4;
#pragma unroll kUnrolled
  for (s32 first = 0; first < Operand::kTile * kEach; first += kThreads) {
    const s32 i = first + threadIdx.x;
    if (Operand::kTile * kEach % kThreads != 0 && i >= Operand::kTile * kEach) break;
    const s32 row = i / kEach, k = i % kEach * kVec;
    u8* to = place_of<Operand>(tile, row, k);
    const bool inside = row0 + row < Operand::kRows && k0 + k < s.k;
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
  for (s32 first = 0; first < kEach * (kBk / 4); first += kThreads) {
    const s32 i = first + threadIdx.x;
    if (kEach * (kBk / 4) % kThreads != 0 && i >= kEach * (kBk / 4)) break;
    const s32 row = i % kEach * 4, k = i / kEach * 4;
    u32 w[4];
#pragma unroll
    for (s32 j = 0; j < 4; ++j) {
      const bool inside = row0 + row < Operand::kRows && k0 + k + j < s.k;
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
  for (s32 i = threadIdx.x; i < Operand::kTile * kBk; i += kThreads) {
    // Neighbouring threads read along the axis that is denser.
    constexpr bool kAlongRows = Operand::kRow < Operand::kStep;
    const s32 row = kAlongRows ? i % Operand::kTile : i / kBk, k = kAlongRows ? i / Operand::kTile : i % kBk;
    const bool inside = row0 + row < Operand::kRows && k0 + k < s.k;
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
  s32 product[kTilesM][kTilesN][4];
  s32 rows[kTilesM][4];     // sums of a, where b has a zero point
  s32 columns[kTilesN][4];  // sums of b, where a has one

  __device__ __forceinline__ static void multiply_a(s32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    if constexpr (s.a_signed) {
      mma_s8s8(d, a, b);
    } else {
      mma_u8s8(d, a, b);
    }
  }
  __device__ __forceinline__ void multiply(Fragments& f) {
    if constexpr (!s.b_signed) {
#pragma unroll
      for (s32 j = 0; j < kTilesN; ++j) f.b[j][0] ^= 0x80808080u, f.b[j][1] ^= 0x80808080u;
    }
#pragma unroll
    for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
      for (s32 j = 0; j < kTilesN; ++j) multiply_a(product[i][j], f.a[i], f.b[j]);
    if constexpr (kZeroPointB != 0) {
      const u32 ones[2] = {kOnes, kOnes};
#pragma unroll
      for (s32 i = 0; i < kTilesM; ++i) multiply_a(rows[i], f.a[i], ones);
    }
    if constexpr (kZeroPointA != 0) {
      const u32 ones[4] = {kOnes, kOnes, kOnes, kOnes};
#pragma unroll
      for (s32 j = 0; j < kTilesN; ++j) mma_u8s8(columns[j], ones, f.b[j]);
    }
  }
  __device__ __forceinline__ s32 sum(s32 i, s32 j, s32 half, s32 e) const {
    return (s32)((u32)product[i][j][2 * half + e] - (u32)kZeroPointB * (u32)rows[i][2 * half] -
                 (u32)kZeroPointA * (u32)columns[j][e] + (u32)s.k * (u32)kZeroPointA * (u32)kZeroPointB);
  }
};

using Result = Element<s.end.real ? ElementType::f32 : ElementType::u8>;
constexpr s32 kOutBytes = out_bytes(s.end);

// `n0`: the warp's first column; `uniform`: the multiplier of all columns, if they have one.
__device__ __forceinline__ void store_row(const EpilogueParams& p, const u8* table, s64 y, s32 m, s32 n0, f32 uniform,
                                          const Accumulators& acc, s32 i, s32 half) {
#pragma unroll
  for (s32 v = 0; v < 2 * kTilesN; v += s.y_access) {
    const s32 n = n0 + column_of(threadIdx.x % 4, v);
    if (n >= s.n) return;
    const s64 at = y + (s64)m * s.y_row + (s64)n * s.y_n;
    __align__(16) u8 residual[s.y_access] = {}, addend[s.y_access] = {};
    __align__(16) Result results[s.y_access];
    if constexpr (s.end.residual) load_codes<s.y_access>(residual, p.residual + at);
    if constexpr (s.end.sum) load_codes<s.y_access>(addend, p.addend + (s.addend_row ? n : at));
#pragma unroll
    for (s32 e = 0; e < s.y_access; ++e) {
      const s32 bias = s.uniform ? 0 : p.bias[n + e];
      const s32 sum = (s32)((u32)acc.sum(i, (v + e) / 2, half, (v + e) % 2) + (u32)bias);
      const f32 t = End::product_real(sum, s.uniform ? uniform : p.multiplier[n + e], residual[e]);
      if constexpr (s.end.real) {
        results[e] = t;
      } else {
        results[e] = (u8)End::product_code(t, table, addend[e]);
      }
    }
    store_codes<s.y_access * kOutBytes>(p.out + at * kOutBytes, (const u8*)results);
  }
}

// Axes of the batch from kFrom on, of which `batch` counts the matrices.
template <s32 kFrom>
__device__ __forceinline__ void add_batch_offsets(s64 batch, const u8*& a, const u8*& b, s64& y) {
  if constexpr (kFrom < s.batches.count) {
    constexpr BatchAxis axis = s.batches.at[kFrom];
    a += batch % axis.size * axis.a;
    b += batch % axis.size * axis.b;
    y += batch % axis.size * axis.y;
    add_batch_offsets<kFrom + 1>(batch / axis.size, a, b, y);
  }
}

extern __shared__ __align__(128) u8 shared_memory[];

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const s32 m0 = blockIdx.x / kNTiles % kMTiles * kBm, n0 = blockIdx.x % kNTiles * kBn;
  const s64 batch = blockIdx.x / (kNTiles * kMTiles);
  s64 y = 0;
  const u8 *a = p.a, *b = p.b;
  add_batch_offsets<0>(batch, a, b, y);
  const u8* table = nullptr;
  if constexpr (s.end.table) {
    u8* own_table = shared_memory + s.stages * kStageBytes;
    End::copy_table(own_table, p.end.table, threadIdx.x, kThreads);
    table = own_table;
  }
  Accumulators acc = {};
#pragma unroll
  for (s32 stage = 0; stage < s.stages - 1; ++stage) {
    if (stage < kKTiles) {
      load_tile<RowOfA>(shared_memory + stage * kStageBytes, a, m0, stage * kBk);
      load_tile<RowOfB>(shared_memory + stage * kStageBytes + kBm * kBk, b, n0, stage * kBk);
    }
    copy_async_commit();
  }
  const f32 uniform = p.end.multiplier[0];
  const s32 row_a = warp % s.warps_m * kTilesM * 16, row_b = warp / s.warps_m * kTilesN * 8;
  for (s32 k_tile = 0; k_tile < kKTiles; ++k_tile) {
    copy_async_wait<s.stages - 2>();
    __syncthreads();
    const s32 next = k_tile + s.stages - 1;
    if (next < kKTiles) {
      u8* stage = shared_memory + next % s.stages * kStageBytes;
      load_tile<RowOfA>(stage, a, m0, next * kBk);
      load_tile<RowOfB>(stage + kBm * kBk, b, n0, next * kBk);
    }
    copy_async_commit();
    const u8* tile = shared_memory + k_tile % s.stages * kStageBytes;
#pragma unroll
    for (s32 step = 0; step < kBk / 32; ++step) {
      Fragments fragments;
      fragments.load(tile, row_a, tile + kBm * kBk, row_b, step);
      acc.multiply(fragments);
    }
  }
  __syncthreads();
#pragma unroll
  for (s32 i = 0; i < kTilesM; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const s32 m = m0 + row_a + i * 16 + half * 8 + lane / 4;
      if (m < s.m) store_row(p.end, table, y, m, n0 + row_b, uniform, acc, i, half);
    }
}
