// SPDX-License-Identifier: Apache-2.0
// Convolution of codes on Hopper: products of warpgroups whose operands the tensor memory accelerator brings. Rows are output pixels,
// columns output channels. One warp loads, NWG warpgroups multiply: together on one tile (cooperative), or each on its own (PINGPONG).
//
// Constants:
//   X_MODE     0: rows of x are pixels one after another (1x1); 1: im2col, a tap at a time; 2: a tile of TH rows of an image with its halo,
//              in which a tap is a shift by rows (stride 1, weights resident)
//   x          X_S8, CIN, CHUNKS (of BKI channels), R, S, STRIDE_H, STRIDE_W, DIL_H, DIL_W, PAD_T, PAD_L; X_MODE 2: TH, WP (pixels of a
//              row with its halo), A_BYTES (of a tile), TILES_H (tiles of an image)
//   y          M (pixels), OH, OW, COUT, Y_IMAGE, Y_ROW, Y_PIXEL, OUT_VEC; RES_..., ADD_...
//   parts      PARTS: y is so many matrices of COUT / PARTS columns, PART_BYTES apart, of whole tiles; ZP_OF_PART: the zero point of codes of `part`
//   edges      EDGES; TOP, BOTTOM, LEFT, RIGHT (rows and columns of y whose windows reach into padding)
//   tiles      BM_WG (64 or 128 rows of a warpgroup), BN, BKI, SUB (pieces of k in a stage), STAGES, NWG, PINGPONG, RESIDENT
//              (weights stay in shared memory), MIN_BLOCKS; ROLLED: the end of a tile is a loop, since a block has so few tiles that fetching
//              its instructions takes longer than moving sums
//   memory     OFF_B, OFF_END (bias and multipliers), OFF_TABLE, OFF_BARRIERS
// Weights: rows of CHUNKS * R * S * BKI bytes of k, zero beyond CIN; row 8j + 2q + e of GROUP is channel CHANNELS * q + 2j + e, so that a
// thread owns CHANNELS neighbours.
#define BM (PINGPONG ? BM_WG : BM_WG * NWG)
#define TALL (BM_WG / 64)
#define ROWS (2 * TALL)  // of a thread
#define N_TILES ((COUT + BN - 1) / BN)
#define PIECES (R * S * CHUNKS)
#define K_STEPS (X_MODE == 2 ? CHUNKS : (PIECES + SUB - 1) / SUB)
#define A_BLOCK (X_MODE == 2 ? A_BYTES : BM * BKI)
#define B_BLOCK (BN * BKI)
#define THREADS (128 * NWG + 32)
#define GROUP (BN < 64 ? BN : 64)
#define CHANNELS (GROUP / 4)
#define M_TILES (X_MODE == 2 ? M / (OH * OW) * TILES_H : (M + BM - 1) / BM)
#define TILES (M_TILES * N_TILES)
#define ADDEND_AHEAD (EPI_SUM && !EPI_RESIDUAL)

extern __shared__ u8 shared_memory[];

struct Stage {
  s32 index;
  u32 phase;
  __device__ __forceinline__ void next() {
    if (++index == STAGES) index = 0, phase ^= 1;
  }
};

// Pieces of k in step `it`.
__device__ __forceinline__ s32 pieces_of(s32 it) {
  return PIECES % SUB == 0 || PIECES - it * SUB >= SUB ? SUB : PIECES - it * SUB;
}

__device__ __forceinline__ void load_weights(const WgmmaParams& p, u32 to, u32 barrier, s32 piece, s32 n_tile) {
  load_box2(to, &p.weights, barrier, piece * BKI, n_tile * BN);
}

__device__ __forceinline__ void load_pieces(const WgmmaParams& p, u32 memory, u32 full, s32 stage, s32 tile, s32 it, bool weights_given) {
  const s32 m_tile = tile / N_TILES;
#if X_MODE == 2
  barrier_expect(full, (TH + R - 1) * WP * BKI);
  load_box4(memory + stage * A_BLOCK, &p.x, full, it * BKI, -PAD_L, m_tile % TILES_H * TH - PAD_T, m_tile / TILES_H);
#else
  const s32 m0 = m_tile * BM, count = pieces_of(it);
  if (!weights_given) barrier_expect(full, count * (A_BLOCK + (RESIDENT ? 0 : B_BLOCK)));
#if X_MODE == 1
  const s32 image = m0 / (OH * OW), rest = m0 % (OH * OW);
  const s32 h = rest / OW * STRIDE_H - PAD_T, w = rest % OW * STRIDE_W - PAD_L;
#endif
#pragma unroll
  for (s32 j = 0; j < SUB; ++j) {
    if (j >= count) break;
    const s32 piece = it * SUB + j;
    const u32 to = memory + (stage * SUB + j) * A_BLOCK;
#if X_MODE == 1
    const s32 tap = piece / CHUNKS;
    load_im2col(to, &p.x, full, piece % CHUNKS * BKI, w, h, image, (u16)(tap % S * DIL_W), (u16)(tap / S * DIL_H));
#else
    load_box2(to, &p.x, full, piece * BKI, m0);
#endif
    if (!RESIDENT && !weights_given) load_weights(p, memory + OFF_B + (stage * SUB + j) * B_BLOCK, full, piece, tile % N_TILES);
  }
#endif
}

// What one thread of the loading warp does. Weights depend on no predecessor: the first are asked for before the wait.
__device__ __forceinline__ void load_all(const WgmmaParams& p, u32 memory, u32 full, u32 empty, u32 resident) {
  const s32 first = blockIdx.x;
  s32 given = 0;
  if (first < TILES) {
#if RESIDENT
    barrier_expect(resident, PIECES * B_BLOCK);
    for (s32 k = 0; k < PIECES; ++k) load_weights(p, memory + OFF_B + k * B_BLOCK, resident, k, first % N_TILES);
#else
    given = K_STEPS < STAGES ? K_STEPS : STAGES;
    for (s32 it = 0; it < given; ++it) {
      const s32 count = pieces_of(it);
      barrier_expect(full + 8 * it, count * (A_BLOCK + B_BLOCK));
      for (s32 j = 0; j < count; ++j)
        load_weights(p, memory + OFF_B + (it * SUB + j) * B_BLOCK, full + 8 * it, it * SUB + j, first % N_TILES);
    }
#endif
  }
  wait_for_predecessor();
  Stage stage = {0, 1};
  for (s32 tile = first; tile < TILES; tile += gridDim.x) {
    for (s32 it = 0; it < K_STEPS; ++it) {
      const bool weights_given = tile == first && it < given;
      if (!weights_given) barrier_wait(empty + 8 * stage.index, stage.phase);
      load_pieces(p, memory, full + 8 * stage.index, stage.index, tile, it, weights_given);
      stage.next();
    }
  }
}

// Products of one stage into acc.
__device__ __forceinline__ void multiply(s32 (&acc)[TALL][BN / 2], u32 memory, s32 stage, s32 it, s32 first_row) {
#if X_MODE == 2
#pragma unroll
  for (s32 tap = 0; tap < R * S; ++tap)
#pragma unroll
    for (s32 kk = 0; kk < BKI / 32; ++kk)
#pragma unroll
      for (s32 m = 0; m < TALL; ++m) {
        const s32 row = first_row + m * 64 + tap / S * DIL_H * WP + tap % S * DIL_W;
        product(acc[m], operand(memory + stage * A_BLOCK + row * BKI) + kk * 2,
                operand(memory + OFF_B + (tap * CHUNKS + it) * B_BLOCK) + kk * 2, (it | tap | kk) != 0);
      }
#else
  const s32 count = pieces_of(it);
#pragma unroll
  for (s32 j = 0; j < SUB; ++j)
    if (j < count) {
      const u64 a = operand(memory + (stage * SUB + j) * A_BLOCK + first_row * BKI);
      const u64 b = operand(memory + OFF_B + (RESIDENT ? it * SUB + j : stage * SUB + j) * B_BLOCK);
#pragma unroll
      for (s32 kk = 0; kk < BKI / 32; ++kk)
#pragma unroll
        for (s32 m = 0; m < TALL; ++m) product(acc[m], a + (m * 64 * BKI >> 4) + kk * 2, b + kk * 2, (it | j | kk) != 0);
    }
#endif
}

// A row of a tile as a pixel of y; `m`: of all, where tiles are rows of pixels.
struct Pixel {
  s32 m, n, h, w;
  bool exists;
};
__device__ __forceinline__ Pixel pixel_of(s32 m_tile, s32 row) {
  Pixel pixel;
  pixel.m = m_tile * BM + row;
#if X_MODE == 2
  const s32 y = row / WP;
  pixel.n = m_tile / TILES_H, pixel.h = m_tile % TILES_H * TH + y, pixel.w = row % WP;
  pixel.exists = y < TH && pixel.h < OH && pixel.w < OW;
#else
  const s32 rest = pixel.m % (OH * OW);
  pixel.n = pixel.m / (OH * OW), pixel.h = rest / OW, pixel.w = rest % OW;
  pixel.exists = pixel.m < M;
#endif
  return pixel;
}
// Of constant strides; pixels that lie one after another need no division.
__device__ __forceinline__ s64 place(const Pixel& at, s64 image, s64 row, s64 pixel) {
  if (X_MODE != 2 && (OH == 1 || row == OW * pixel) && (OH * OW == M || image == (s64)(OH * OW) * pixel)) return at.m * pixel;
  return at.n * image + at.h * row + at.w * pixel;
}

#if EDGES
// 0 inside; rows of the table of borders are classes.
__device__ __forceinline__ s32 edge_class(const Pixel& at) {
  const s32 v = at.h < TOP ? 1 + at.h : at.h >= OH - BOTTOM ? 1 + TOP + at.h - (OH - BOTTOM) : 0;
  const s32 u = at.w < LEFT ? 1 + at.w : at.w >= OW - RIGHT ? 1 + LEFT + at.w - (OW - RIGHT) : 0;
  return v * (1 + LEFT + RIGHT) + u;
}
#endif

// CHANNELS neighbouring channels of a pixel, as far as they exist.
__device__ __forceinline__ void load_operand(u8 (&to)[CHANNELS], const u8* from, s32 channel) {
#pragma unroll
  for (s32 v = 0; v < CHANNELS; v += OUT_VEC)
    if (channel + v < COUT) load_codes<OUT_VEC>(to + v, from + channel + v);
}

// The sums and operands of the next group of channels become those of the first.
template <s32 kOperands>
__device__ __forceinline__ void next_group(s32 (&acc)[TALL][BN / 2], u8 (&operands)[kOperands][ROWS][CHANNELS]) {
#pragma unroll
  for (s32 m = 0; m < TALL; ++m)
#pragma unroll
    for (s32 i = 0; i < BN / 2 - GROUP / 2; ++i) acc[m][i] = acc[m][i + GROUP / 2];
#pragma unroll
  for (s32 g = 1; g < kOperands; ++g)
#pragma unroll
    for (s32 row = 0; row < ROWS; ++row)
#pragma unroll
      for (s32 c = 0; c < CHANNELS; ++c) operands[g - 1][row][c] = operands[g][row][c];
}

// The first group of channels of a thread's rows: what is known of a channel is read once for all of them.
__device__ __forceinline__ void finish(const WgmmaParams& p, const s32 (&acc)[TALL][BN / 2], const Pixel (&at)[ROWS], s32 channel,
                                       const u8* end, const u8* table, const u8 (&residual)[ROWS][CHANNELS], s32 part) {
#if ADDEND_AHEAD
  const u8 (&addend)[ROWS][CHANNELS] = residual;
#else
  u8 addend[ROWS][CHANNELS] = {};
#endif
#if EPI_SUM && !ADDEND_AHEAD
#pragma unroll
  for (s32 row = 0; row < ROWS; ++row)
    if (at[row].exists) load_operand(addend[row], p.end.addend + place(at[row], ADD_IMAGE, ADD_ROW, ADD_PIXEL), channel);
#endif
  const s32 q = threadIdx.x % 4;
  u32 words[ROWS][CHANNELS / 4];
#pragma unroll
  for (s32 w = 0; w < CHANNELS / 4; ++w) {
    const u8* four = end + (w * 16 + q * 4) * 4;
    const uint4 f = *(const uint4*)four;
    const int4 b = *(const int4*)(four + N_TILES_BYTES);
    const f32 scales[4] = {f32_bits(f.x), f32_bits(f.y), f32_bits(f.z), f32_bits(f.w)};
#pragma unroll
    for (s32 row = 0; row < ROWS; ++row) {
      const s32* own = acc[row / 2] + 8 * w + row % 2 * 2;
      s32 sums[4] = {own[0] + b.x, own[1] + b.y, own[4] + b.z, own[5] + b.w};
#if EDGES
      const s32 edge = edge_class(at[row]);
      if (at[row].exists && edge != 0 && channel + 4 * w < COUT) {
        const int4 e = *(const int4*)(p.border + (s64)edge * COUT_PADDED + channel + 4 * w);
        sums[0] += e.x, sums[1] += e.y, sums[2] += e.z, sums[3] += e.w;
      }
#endif
      f32 t[4];
#pragma unroll
      for (s32 e = 0; e < 4; ++e) t[e] = product_real(sums[e], scales[e], residual_real(((const u32*)residual[row])[w], e));
#if EPI_REAL
#pragma unroll
      for (s32 e = 0; e < 4; ++e)
        if (at[row].exists && channel + 4 * w + e < COUT)
          ((f32*)p.end.out)[place(at[row], Y_IMAGE, Y_ROW, Y_PIXEL) + channel + 4 * w + e] = t[e];
#else
      words[row][w] = product_codes(t, table, addend[row] + 4 * w, ZP_OF_PART);
#endif
    }
  }
#if !EPI_REAL
#pragma unroll
  for (s32 row = 0; row < ROWS; ++row) {
    u8* to = p.end.out + place(at[row], Y_IMAGE, Y_ROW, Y_PIXEL) + channel + part * (s64)(PART_BYTES - COUT / PARTS);
#pragma unroll
    for (s32 v = 0; v < CHANNELS; v += OUT_VEC)
      if (at[row].exists && channel + v < COUT) store_codes<OUT_VEC>(to + v, (const u8*)words[row] + v);
  }
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) octet_kernel(const __grid_constant__ WgmmaParams p) {
  const u32 memory = (shared_address(shared_memory) + 1023) & ~1023u;
  u8* base = shared_memory + (memory - shared_address(shared_memory));
  const u32 full = memory + OFF_BARRIERS, empty = full + 8 * STAGES, resident = empty + 8 * STAGES;
  const s32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (s32 i = 0; i < STAGES; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, 4 * (PINGPONG ? 1 : NWG));
    }
    barrier_init(resident, 1);
    barriers_are_ready();
  }
  // Multipliers and biases: within a GROUP channel CHANNELS * q + 4w + e lies at 16w + 4q + e, so that four threads read 64 bytes. A block
  // whose tiles are all of one column needs no others.
  const bool one_column = RESIDENT || gridDim.x >= TILES;
  const s32 of_block = one_column ? blockIdx.x % N_TILES * BN : 0, columns = one_column ? BN : N_TILES * BN;
#pragma unroll 4
  for (s32 i = of_block + threadIdx.x; i < of_block + columns; i += THREADS) {
    const s32 in = i % GROUP, q = in / CHANNELS, w = in % CHANNELS / 4, e = in % 4;
    f32* to = (f32*)(base + OFF_END) + (i - in + 16 * w + 4 * q + e);
    *to = i < COUT ? p.end.multiplier[i] : 0.0f;
    *(s32*)((u8*)to + N_TILES_BYTES) = i < COUT ? p.end.bias[i] : 0;
  }
#if EPI_TABLE
  copy_table(base + OFF_TABLE, p.end.table, threadIdx.x, THREADS);
#endif
  __syncthreads();
  let_successor_begin();
  if (warp == 4 * NWG) {
    if (lane == 0) load_all(p, memory, full, empty, resident);
    return;
  }
  wait_for_predecessor();
#if RESIDENT
  if (blockIdx.x < TILES) barrier_wait(resident, 0);
#endif
  const s32 wg = warp / 4, own = PINGPONG ? wg : 0, step = PINGPONG ? NWG : 1;
  const s32 first_row = PINGPONG ? 0 : wg * BM_WG;
  const s32 row_in_wg = (warp & 3) * 16 + lane / 4;
#if PINGPONG
  // Main loops take turns (named barriers 3, 4): a wait for a parity cannot tell a phase from the one two before it.
  if (wg == 1) threads_arrive<256>(3);
#endif
  s32 acc[TALL][BN / 2];
  Stage stage = {own * K_STEPS % STAGES, (u32)(own * K_STEPS / STAGES & 1)};
  for (s32 tile = blockIdx.x + own * gridDim.x; tile < TILES; tile += step * gridDim.x) {
    const s32 m_tile = tile / N_TILES, n_tile = tile % N_TILES;
    const s32 first_channel = n_tile * BN + lane % 4 * CHANNELS;
    Pixel at[ROWS];
#pragma unroll
    for (s32 row = 0; row < ROWS; ++row) at[row] = pixel_of(m_tile, first_row + row / 2 * 64 + row_in_wg + row % 2 * 8);
    // Of the residual, or of the addend where there is no residual: asked for before the products.
    u8 ahead[EPI_RESIDUAL || EPI_SUM ? BN / GROUP : 1][ROWS][CHANNELS] = {};
#if EPI_RESIDUAL || EPI_SUM
#pragma unroll
    for (s32 row = 0; row < ROWS; ++row) {
#if EPI_RESIDUAL
      const u8* from = p.end.residual + place(at[row], RES_IMAGE, RES_ROW, RES_PIXEL);
#else
      const u8* from = p.end.addend + place(at[row], ADD_IMAGE, ADD_ROW, ADD_PIXEL);
#endif
#pragma unroll
      for (s32 g = 0; g < BN / GROUP; ++g)
        if (at[row].exists) load_operand(ahead[g][row], from, first_channel + g * GROUP);
    }
#endif
#if PINGPONG
    threads_meet<256>(3 + wg);
#endif
    s32 last = 0;
    for (s32 it = 0; it < K_STEPS; ++it) {
      barrier_wait(full + 8 * stage.index, stage.phase);
      products_begin();
      multiply(acc, memory, stage.index, it, first_row);
      products_end();
      if (it > 0) {
        products_wait<1>();
        if (lane == 0) barrier_arrive(empty + 8 * last);
      }
      last = stage.index;
      stage.next();
    }
#if PINGPONG
    threads_arrive<256>(4 - wg);
#endif
    products_wait<0>();
    if (lane == 0) barrier_arrive(empty + 8 * last);
    if (PINGPONG) {
      const s32 skipped = stage.index + K_STEPS * (NWG - 1);
      stage.index = skipped % STAGES;
      stage.phase ^= skipped / STAGES & 1;
    }
#if ROLLED
#pragma unroll 1
#else
#pragma unroll
#endif
    for (s32 g = 0; g < BN / GROUP; ++g) {
      finish(p, acc, at, first_channel + g * GROUP, base + OFF_END + (n_tile * BN + g * GROUP) * 4, base + OFF_TABLE, ahead[0],
             PARTS > 1 ? n_tile * BN / (COUT / PARTS) : 0);
      next_group(acc, ahead);
    }
  }
}
