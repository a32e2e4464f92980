// SPDX-License-Identifier: Apache-2.0
// The front of a network on Hopper: reals of an image -> codes -> convolution with stride 2 -> codes, and with POOL behind that the largest of
// 3x3 windows with stride 2. Nothing between them reaches memory.
// A block is one warpgroup that goes down some columns of an image. Of each two rows of pixels it makes a row of cells in shared memory: word c
// of a cell is 2x2 codes of channel c, so that a window is some rows of neighbouring cells. The four lanes that hold a row of the product in
// registers take a cell each; the next row of the window needs one row of cells more. Products of a row run while the next row becomes codes.
// With POOL the largest sum is found first: codes grow with sums.
// Constants:
//   x          X_IMAGE, X_CHANNEL, X_ROW (in elements), IH, IW, CHANNELS (up to 4); PAIRS: two neighbours are one access; TOP, LEFT: even
//              numbers of rows and columns before the image that cells begin with
//   codes      X_S8, ZP_X, SCALE; FAST: with RECIPROCAL, LEAST, MOST (reals of the lowest and the highest code)
//   window     WIDE (4 or 2 cells side by side), GROUPS (of four cells, one below the other)
//   y          OH, OW (of the convolution), COUT, HEIGHT, WIDTH (of the result), Y_IMAGE, Y_ROW, Y_PIXEL, OUT_VEC
//   POOL       POOL_T, POOL_L (its padding)
//   tiles      BN (16, 32 or 64: COUT fits), COLUMNS and ROWS of the result for a block, COLUMN_TILES, ROW_TILES
//   AHEAD      rows of cells on their way from memory; MIN_BLOCKS; OFF_CELLS, OFF_ENDS, OFF_PIXELS
// Weights: blocks of BN rows of 32 bytes of k, swizzled; row 8j + 2q + e is channel OWN * q + 2j + e. Byte 16 * half + 4 * q + b is pixel b of a
// word in the cell that lane q takes. Which word: in PAIRED blocks for each group, channels 2i and 2i + 1 of it. Of an odd last channel
// block g has groups g and g + 1 (around), block GROUPS + g group g alone, so that registers stay where they are as groups take turns.
#define HIGH (4 / WIDE)        // rows of cells of a group
#define TAPS (GROUPS * HIGH)   // of a window
#define SLOTS (2 * HIGH)
#define PITCH 68
#define PAIRED (CHANNELS / 2)
#define BLOCKS (GROUPS * PAIRED + (CHANNELS % 2 == 0 ? 0 : GROUPS % 2 == 0 ? GROUPS : 2 * GROUPS))
#define OWN (BN / 4)
#define SUMS (BN / 2)
#define UNROLL (GROUPS == 3 ? 12 : 4)  // of rows: a multiple of GROUPS, and of four where there is POOL
#define CELLS ((POOL ? 2 * COLUMNS + 1 : COLUMNS) + WIDE - 1)
#define LOWEST (-2147483647 - 1)
static_assert(CELLS <= 64 && UNROLL % GROUPS == 0, "tiles of a stem");

extern __shared__ u8 shared_memory[];

// What a block computes.
struct Tile {
  s32 image, row, column;  // of the result: the first
  s32 rows;                // of the convolution
  s32 h, w;                // of the convolution: the first, perhaps beyond the image
};
__device__ __forceinline__ Tile tile_of(s32 index) {
  Tile tile;
  tile.column = index % COLUMN_TILES * COLUMNS;
  tile.row = index / COLUMN_TILES % ROW_TILES * ROWS;
  tile.image = index / (COLUMN_TILES * ROW_TILES);
#if POOL
  tile.rows = 2 * min(ROWS, HEIGHT - tile.row) + 1;
  tile.h = 2 * tile.row - POOL_T, tile.w = 2 * tile.column - POOL_L;
#else
  tile.rows = min(ROWS, HEIGHT - tile.row);
  tile.h = tile.row, tile.w = tile.column;
#endif
  return tile;
}

// A thread's part of the rows of cells: two neighbours of each channel, of one of the two rows of pixels. They come one row after another, AHEAD of
// when they are needed, to a place that no other thread looks at. Beyond the image they are 0, whose code is the zero point.
struct Source {
  const f32* x;
  float2* own;
  s32 y, end;  // what lies behind `end` nobody needs
  bool first, second;
  __device__ __forceinline__ Source(const ConvParams& p, const Tile& tile, u8* pixels) : own((float2*)pixels + threadIdx.x) {
    const s32 cell = threadIdx.x / 2, column = 2 * (tile.w + cell) - LEFT, top = 2 * tile.h - TOP;
    y = top + threadIdx.x % 2, end = max(0, min(IH, top + 2 * (tile.rows + TAPS - 1)));
    first = cell < CELLS && (u32)column < (u32)IW, second = cell < CELLS && (u32)(column + 1) < (u32)IW;
    x = (const f32*)p.x + (s64)tile.image * X_IMAGE + (s64)y * X_ROW + column;
  }
  __device__ __forceinline__ float2* place(s32 row, s32 c) const { return own + ((u32)row % AHEAD * CHANNELS + c) * 128; }
  // Asks for the next row, which is this one.
  __device__ __forceinline__ void ask(s32 row) {
    const bool inside = (u32)y < (u32)end;
#pragma unroll
    for (s32 c = 0; c < CHANNELS; ++c) {
      const f32* from = x + (s64)c * X_CHANNEL;
#if PAIRS
      copy_async_or_zero<8>(place(row, c), from, inside && first);
#else
      copy_async_or_zero<4>(place(row, c), from, inside && first);
      copy_async_or_zero<4>((f32*)place(row, c) + 1, from + 1, inside && second);
#endif
    }
    copy_async_commit();
    x += 2 * X_ROW, y += 2;
  }
};

// The code in the low byte. FAST: quotient() of kernels/elements.cu, clamped before; adding 1.5 * 2^23 rounds, ties to even.
__device__ __forceinline__ u32 code_of_pixel(f32 x) {
#if FAST
  x = x == x ? fminf(fmaxf(x, LEAST), MOST) : 0.0f;
  const f32 q = f32_mul(x, RECIPROCAL);
  const f32 better = f32_fma(f32_fma(-q, SCALE, x), RECIPROCAL, q);
  return bits_of(f32_add(better, 12582912.0f + (f32)(ZP_X - (ZP_X & 1)))) + (ZP_X & 1);
#else
  return (u32)quantized(x, SCALE, 0.0f, ZP_X, X_S8 ? -128 : 0, X_S8 ? 127 : 255);
#endif
}

// Makes a row of cells, and asks for the pixels of another in the place of its own.
__device__ __forceinline__ void store_cells(u32* cells, Source& source, s32 row) {
  copy_async_wait<AHEAD - 1>();
  u16* to = (u16*)(cells + (u32)row % SLOTS * (CHANNELS * PITCH) + threadIdx.x / 2) + threadIdx.x % 2;
#pragma unroll
  for (s32 c = 0; c < CHANNELS; ++c) {
    const float2 two = *source.place(row, c);
    to[c * (2 * PITCH)] = (u16)__byte_perm(code_of_pixel(two.x), code_of_pixel(two.y), 0x0040);
  }
  source.ask(row + AHEAD);
}

// Where a lane's two rows of the product begin in a row of cells. With POOL a window that reaches over an edge takes the last column instead,
// which it holds anyway.
struct Columns {
  s32 cell[2];
  __device__ __forceinline__ Columns(const Tile& tile) {
    const s32 warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4;
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const s32 column = POOL ? 14 * warp + 2 * g + half : 16 * warp + g + 8 * half;
      cell[half] = (POOL ? max(-tile.w, min(OW - 1 - tile.w, column)) : column) + threadIdx.x % 4 % WIDE;
    }
  }
};

// A lane's words of a group for its two rows of the product.
struct Group {
  u32 at[2][CHANNELS];
  // `row`: of cells, the last of the group.
  __device__ __forceinline__ void load(const u32* cells, const Columns& columns, s32 row) {
    const s32 slot = (u32)(row - (HIGH - 1) + (s32)threadIdx.x % 4 / WIDE) % SLOTS;
#pragma unroll
    for (s32 half = 0; half < 2; ++half)
#pragma unroll
      for (s32 c = 0; c < CHANNELS; ++c) at[half][c] = cells[(slot * CHANNELS + c) * PITCH + columns.cell[half]];
  }
};

// All products of a row of the convolution, those that need the group that came last behind the others; groups[first] is the highest of its
// window.
__device__ __forceinline__ void multiply(s32 (&acc)[SUMS], const Group (&groups)[GROUPS], s32 first, u64 weights) {
  constexpr s32 kLast = CHANNELS - 1, kBlock = BN * BKI / 16;
  products_begin();
#pragma unroll
  for (s32 place = 0; place < GROUPS; ++place) {
    const auto& own = groups[(first + place) % GROUPS].at;
#pragma unroll
    for (s32 c = 0; c < 2 * PAIRED; c += 2) {
      const u32 a[4] = {own[0][c], own[1][c], own[0][c + 1], own[1][c + 1]};
      product(acc, a, weights + (place * PAIRED + c / 2) * kBlock, place + c != 0);
    }
  }
#pragma unroll
  for (s32 pair = 0; pair < (CHANNELS % 2 == 0 ? 0 : GROUPS); pair += 2) {
    const s32 i = ((first + 1) / 2 * 2 + pair) % (GROUPS + GROUPS % 2);
    const bool alone = i + 1 == GROUPS;
    const auto &own = groups[i].at, &next = groups[alone ? i : i + 1].at;
    const u32 a[4] = {own[0][kLast], own[1][kLast], alone ? 0 : next[0][kLast], alone ? 0 : next[1][kLast]};
    const s32 place = (i - first + GROUPS) % GROUPS;
    product(acc, a, weights + (GROUPS * PAIRED + place + (alone ? GROUPS : 0)) * kBlock, pair + PAIRED != 0);
  }
  products_end();
}

// Multipliers and biases in shared memory: of channel OWN * q + 4w + e at 16w + 4q + e, so that four lanes read 64 bytes.
__device__ __forceinline__ void store_ends(const ConvParams& p, u8* ends) {
  if (threadIdx.x >= BN) return;
  const s32 channel = threadIdx.x, q = channel / OWN, w = channel % OWN / 4, at = 16 * w + 4 * q + channel % 4;
  ((f32*)ends)[at] = channel < COUT ? p.end.multiplier[channel] : 0.0f;
  ((s32*)ends)[BN + at] = channel < COUT ? p.end.bias[channel] : 0;
}

// Of channels 4w to 4w + 3 of a thread.
struct Ends {
  uint4 multiplier;
  int4 bias;
  __device__ __forceinline__ void load(const u8* ends, s32 w) {
    multiplier = *(const uint4*)(ends + 64 * w + threadIdx.x % 4 * 16);
    bias = *(const int4*)(ends + 4 * BN + 64 * w + threadIdx.x % 4 * 16);
  }
  __device__ __forceinline__ u32 codes(const s32 (&sums)[4], const u8* table) const {
    const u8 addend[4] = {};
    const f32 t[4] = {product_real(sums[0] + bias.x, f32_bits(multiplier.x), 0.0f), product_real(sums[1] + bias.y, f32_bits(multiplier.y), 0.0f),
                      product_real(sums[2] + bias.z, f32_bits(multiplier.z), 0.0f), product_real(sums[3] + bias.w, f32_bits(multiplier.w), 0.0f)};
    return product_codes(t, table, addend);
  }
};

// A thread's channels of a pixel, if it has any.
struct Result {
  u8* to;
  bool exists;
  __device__ __forceinline__ Result(const ConvParams& p, const Tile& tile, s32 in_tile) {
    const s32 column = tile.column + in_tile, channel = threadIdx.x % 4 * OWN;
    to = p.end.out + (s64)tile.image * Y_IMAGE + (s64)tile.row * Y_ROW + (s64)column * Y_PIXEL + channel;
    exists = in_tile < COLUMNS && column < WIDTH && channel < COUT;
  }
  __device__ __forceinline__ void store(const u32 (&words)[OWN / 4]) {
    if (exists) {
#pragma unroll
      for (s32 v = 0; v < OWN; v += OUT_VEC)
        if (COUT % OWN == 0 || (s32)threadIdx.x % 4 * OWN + v < COUT) store_codes<OUT_VEC>(to + v, (const u8*)words + v);
    }
    to += Y_ROW;
  }
};

#if POOL
__device__ __forceinline__ void keep_larger(s32 (&to)[SUMS], const s32 (&from)[SUMS]) {
#pragma unroll
  for (s32 i = 0; i < SUMS; ++i) to[i] = max(to[i], from[i]);
}
// Of a row beyond the image. It is rare: a branch, not a selection of each sum.
__device__ __forceinline__ void forget(s32 (&sums)[SUMS]) {
  asm volatile("" ::: "memory");
#pragma unroll
  for (s32 i = 0; i < SUMS; ++i) sums[i] = LOWEST;
}

// The last of three rows, and the largest of the two before it: a lane has columns 2g and 2g + 1 of its warp's 16, the next one's first is the
// third of its window. So a warp makes seven pixels.
__device__ __forceinline__ void finish_pool(Result& result, const u8* ends, const s32 (&before)[SUMS], const s32 (&last)[SUMS]) {
  u32 words[OWN / 4];
#pragma unroll
  for (s32 w = 0; w < OWN / 4; ++w) {
    s32 sums[4];
#pragma unroll
    for (s32 e = 0; e < 4; ++e) {
      const s32 at = w * 8 + e / 2 * 4 + e % 2;
      const s32 left = max(before[at], last[at]), middle = max(before[at + 2], last[at + 2]);
      sums[e] = max(max(left, middle), __shfl_down_sync(~0u, left, 4));
    }
    Ends own;
    own.load(ends, w);
    words[w] = own.codes(sums, ends + 8 * BN);
  }
  result.store(words);
}
#else
__device__ __forceinline__ void finish_row(Result (&results)[2], const Ends (&ends)[OWN / 4], const u8* table, const s32 (&acc)[SUMS]) {
#pragma unroll
  for (s32 half = 0; half < 2; ++half) {
    u32 words[OWN / 4];
#pragma unroll
    for (s32 w = 0; w < OWN / 4; ++w) {
      const s32* four = acc + 8 * w + 2 * half;
      const s32 sums[4] = {four[0], four[1], four[4], four[5]};
      words[w] = ends[w].codes(sums, table);
    }
    results[half].store(words);
  }
}
#endif

extern "C" __global__ void __launch_bounds__(128, MIN_BLOCKS) octet_kernel(const __grid_constant__ ConvParams p) {
  constexpr u32 kAlignment = 8 * BKI;
  const u32 weights = (shared_address(shared_memory) + kAlignment - 1) / kAlignment * kAlignment;
  u8* base = shared_memory + (weights - shared_address(shared_memory));
  u32* cells = (u32*)(base + OFF_CELLS);
  for (s32 i = threadIdx.x; i < BLOCKS * BN * BKI / 16; i += 128) ((uint4*)base)[i] = ((const uint4*)p.weights)[i];
  u8* ends = base + OFF_ENDS;
  store_ends(p, ends);
#if EPI_TABLE
  for (s32 i = threadIdx.x; i < 256; i += 128) ends[8 * BN + i] = p.end.table[i];
#endif
  publish_shared();
  __syncthreads();
  let_successor_begin();
  wait_for_predecessor();

  const Tile tile = tile_of(blockIdx.x);
  const Columns columns(tile);
  const u64 operands = operand(weights);
  Source source(p, tile, base + OFF_PIXELS);
  for (s32 row = 0; row < AHEAD; ++row) source.ask(row);
  const s32 warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4;
#if POOL
  Result result(p, tile, g < 7 ? 7 * warp + g : COLUMNS);
#else
  Result results[2] = {Result(p, tile, 16 * warp + g), Result(p, tile, 16 * warp + g + 8)};
  Ends own_ends[OWN / 4];
#pragma unroll
  for (s32 w = 0; w < OWN / 4; ++w) own_ends[w].load(ends, w);
#endif
  Group groups[GROUPS];
  s32 acc[1 + POOL][SUMS];
#pragma unroll
  for (s32 row = 0; row < TAPS; ++row) {
    store_cells(cells, source, row);
    if (row == TAPS - 1) break;
    __syncthreads();
    if (HIGH == 1) groups[row % GROUPS].load(cells, columns, row);
  }
  for (s32 from = 0; from < tile.rows; from += UNROLL) {
#pragma unroll
    for (s32 u = 0; u < UNROLL; ++u) {
      const s32 v = from + u, row = v + TAPS - 1;
      if (v >= tile.rows) break;
      __syncthreads();
      groups[(u + TAPS - 1) % GROUPS].load(cells, columns, row);
      // With POOL rows 2i and 2i + 2 of the convolution end windows; sums of 2i stay where they are until 2i + 2 is there.
      s32(&own)[SUMS] = acc[POOL ? (u + 1) / 2 % 2 : 0];
      multiply(own, groups, u % GROUPS, operands);
      store_cells(cells, source, row + 1);
      products_wait<0>();
      hold(own);
#if POOL
      s32(&other)[SUMS] = acc[1 - (u + 1) / 2 % 2];
      if ((u32)(tile.h + v) >= (u32)OH) forget(own);
      if (u % 2 == 1) keep_larger(other, own);
      if (u % 2 == 0 && v > 0) finish_pool(result, ends, other, own);
#else
      finish_row(results, own_ends, ends + 8 * BN, own);
#endif
    }
  }
}
