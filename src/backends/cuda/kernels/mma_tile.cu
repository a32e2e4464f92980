// SPDX-License-Identifier: Apache-2.0
// Tiles of two operands in shared memory, rows of BK bytes of k, and a warp's share of their product.
// Constants: BK (64 or 128), TILES_M, TILES_N (mma tiles of a warp).

// Chunk `c` (16 bytes) of row `r` lies where eight rows that ldmatrix reads at once meet no bank twice.
__device__ __forceinline__ u32 swizzled(u32 r, u32 c) {
  return r * BK + ((c ^ (BK == 128 ? r & 7 : (r >> 1) & 3)) << 4);
}

// What a warp multiplies in 32 bytes of k.
struct Fragments {
  u32 a[TILES_M][4], b[TILES_N][2];

  // `a` and `b`: the tiles; the warp's first rows of each; which 32 bytes.
  __device__ __forceinline__ void load(const u8* tile_a, s32 row_a, const u8* tile_b, s32 row_b, s32 step) {
    const s32 lane = threadIdx.x % 32;
#pragma unroll
    for (s32 i = 0; i < TILES_M; ++i)
      ldmatrix4(a[i], tile_a + swizzled(row_a + i * 16 + lane % 16, 2 * step + lane / 16));
#pragma unroll
    for (s32 j = 0; j < TILES_N; j += 2) {
      u32 four[4];
      ldmatrix4(four, tile_b + swizzled(row_b + j * 8 + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
      b[j][0] = four[0], b[j][1] = four[1], b[j + 1][0] = four[2], b[j + 1][1] = four[3];
    }
  }
};
