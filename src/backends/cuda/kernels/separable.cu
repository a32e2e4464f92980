// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution of codes with the 1x1 convolution before it (EXPAND), the one behind it (PROJECT), or both; or, behind it, a maximum of
// 2x2 pixels (POOL is 2, else 1). A block has TH rows of TW pixels of one image and all channels, CS of them at a time: what passes between the
// nodes stays in shared memory.
//
// In front of the window channels lie apart, four neighbouring pixels of one in a word, so that a word meets four taps in one
// instruction and a thread's products of four pixels (two fragments) are such words. Behind it a pixel's channels lie together, as
// mma.sync wants them.
//
// Constants:
//   x          XC (channels), X_S8, X_IMAGE, X_ROW, X_PIXEL, VEC (bytes of one load: 4, 8 or 16, divides XC and every stride); IMAGES, IH, IW
//   window     C (channels), D_S8, ZP (of its input), R, S, STRIDE_H, STRIDE_W, PAD_T, PAD_L, OH, OW
//   y          N (channels), P_S8 (of the window's results), POOL, Y_IMAGE, Y_ROW, Y_PIXEL, RES_..., ADD_...; OUT_VEC (channels stored at once)
//   tiles      TH, TW (a multiple of 4), ROWS (of a thread, divides TH), CS (a multiple of 16); WARPS_M x WARPS_N warps of TILES_M x TILES_N mma
//              tiles of y; GROUPS: 16 channels each that a warp expands at once; MIN_BLOCKS
//   memory     offsets, in bytes, of what is kept: OFF_EXPAND, OFF_EXPAND_ENDS, OFF_TAPS, OFF_SCALES, OFF_PROJECT, OFF_PROJECT_ENDS, OFF_TABLES; KEPT (all of
//              it); then OFF_X, OFF_INSIDE, OFF_PLANES, OFF_A
//   sums       SHORT_EXPAND, SHORT_WINDOW, SHORT_PROJECT: whether all are shorter than 23 bits
// Parts: expand, window, project: epilogue.cu.
// Kept bytes: expand [C][K_PITCH], row 8j + 2q + e of 16 is channel 4q + 2j + e; ends of four channels {4 biases, 4 multipliers};
// taps [C][TAPS] words: [R][WORDS_S] of four taps, then the bias; scales [C]; project [N][P_PITCH], rows permuted as conv_mma.cu's; ends
// {N biases, N multipliers}; tables of 256 bytes of expand, window, project. C and N are filled up to whole tiles.
#define THREADS (32 * WARPS_M * WARPS_N)
#define WARPS (WARPS_M * WARPS_N)
#define QUADS (TW / 4)              // four neighbouring pixels of y
#define PLACES (QUADS * (TH / ROWS))  // of a thread's pixels
#define IN_H ((TH - 1) * STRIDE_H + R)
#define WORDS_S ((S + 3) / 4)
#define SPAN ((3 * STRIDE_W + 4 * WORDS_S - 1) / 4 + 1)  // words that four pixels of y read in a row
#define IN_W ((QUADS - 1) * STRIDE_W + SPAN)             // words of a row
#define IN_QUADS (IN_H * IN_W)
#define IN_UNITS ((IN_QUADS + 7) / 8)
#define PLANE ((IN_QUADS + 5) / 8 * 8 + 2)  // words: planes of channels 4, 8 and 12 apart meet no bank twice
#define SLICES ((C + CS - 1) / CS)
#define K_BYTES ((XC + 31) / 32 * 32)
#define K_PITCH (K_BYTES + 16)
#define X_WIDTH (EXPAND ? XC : CS)                                // channels of x that are loaded at once
#define X_PITCH (EXPAND ? K_PITCH : CS % 32 == 0 ? CS + 16 : CS)  // an odd number of 16 bytes
#define A_BYTES ((CS + 31) / 32 * 32)
#define A_PITCH (A_BYTES + 16)
#define P_PITCH (SLICES * A_BYTES + 16)
#define TAPS ((R * WORDS_S + 4) / 4 * 4)
#define COLUMN_TILES ((OW + TW - 1) / TW)
#define ROW_TILES ((OH + TH - 1) / TH)
#define TILES (IMAGES * ROW_TILES * COLUMN_TILES)
#define N_FILLED (8 * TILES_N * WARPS_N)
#define STORED_WORDS (OUT_VEC < 4 ? 1 : OUT_VEC / 4)

#if X_S8
#define expand_mma mma_s8s8
#else
#define expand_mma mma_u8s8
#endif
#if P_S8
#define project_mma mma_s8s8
#else
#define project_mma mma_u8s8
#endif
#if D_S8
#define dot4 dot4_s8s8
#else
#define dot4 dot4_u8s8
#endif

extern __shared__ __align__(128) u8 shared_memory[];

// A sum as a real. Where all are shorter than 23 bits (SHORT_...) biases begin with the bits of 1.5 * 2^23, so that those of a sum are a real's:
// conversions are slow, additions are not.
template <bool kShort>
__device__ __forceinline__ f32 sum_real(s32 acc) {
  return kShort ? f32_add(f32_bits((u32)acc), -0x1.8p+23f) : f32_of(acc);
}

// Of a tile: its image, and its first pixel in y.
struct Tile {
  s32 n, h, w;
  __device__ __forceinline__ explicit Tile(s32 index)
      : n(index / (ROW_TILES * COLUMN_TILES)), h(index / COLUMN_TILES % ROW_TILES * TH), w(index % COLUMN_TILES * TW) {}
  // The first pixel of four in x, of a quad of the tile's input.
  __device__ __forceinline__ s32 row_of(s32 quad) const { return h * STRIDE_H - PAD_T + quad / IN_W; }
  __device__ __forceinline__ s32 column_of(s32 quad) const { return w * STRIDE_W - PAD_L + quad % IN_W * 4; }
};

__device__ __forceinline__ void load_kept(const u8* from) {
  for (s32 i = threadIdx.x * 16; i < KEPT; i += THREADS * 16) copy_async16(shared_memory + i, from + i);
}

#if VEC == 16
#define copy_async copy_async16
#elif VEC == 8
#define copy_async copy_async8
#else
#define copy_async copy_async4
#endif

#if EXPAND
// For the window a pixel outside the image is the zero point. For each quad 255 in the bytes of pixels inside.
__device__ __forceinline__ void mark_inside(const Tile& tile) {
  for (s32 quad = threadIdx.x; quad < IN_QUADS; quad += THREADS) {
    const s32 h = tile.row_of(quad), w = tile.column_of(quad);
    u32 bytes = 0;
#pragma unroll
    for (s32 j = 0; j < 4; ++j)
      if ((u32)h < (u32)IH && (u32)(w + j) < (u32)IW) bytes |= 255u << (8 * j);
    ((u32*)(shared_memory + OFF_INSIDE))[quad] = bytes;
  }
}
#endif

// What a slice begins with: of EXPAND all channels of x, else those of the slice, the zero point outside the image. Row j * 8 * IN_UNITS + quad: pixel
// j of four.
__device__ __forceinline__ void load_x(const u8* x, const Tile& tile, s32 slice) {
#if EXPAND
  mark_inside(tile);
#endif
  const s32 first = EXPAND ? 0 : slice * CS;
  const u8* image = x + (s64)tile.n * X_IMAGE + first;
  for (s32 i = threadIdx.x; i < IN_QUADS * (X_WIDTH / VEC); i += THREADS) {
    const s32 c = i % (X_WIDTH / VEC) * VEC, quad = i / (X_WIDTH / VEC), h = tile.row_of(quad), w = tile.column_of(quad);
    if (!EXPAND && first + c >= C) continue;
    const u8* from = image + (s64)h * X_ROW + (s64)w * X_PIXEL + c;
    u8* to = shared_memory + OFF_X + quad * X_PITCH + c;
#pragma unroll
    for (s32 j = 0; j < 4; ++j, to += 8 * IN_UNITS * X_PITCH) {
      if ((u32)h < (u32)IH && (u32)(w + j) < (u32)IW) {
        copy_async(to, from + j * X_PIXEL);
      } else if (!EXPAND) {
#pragma unroll
        for (s32 v = 0; v < VEC; v += 4) *(u32*)(to + v) = (ZP & 255) * 0x01010101u;
      }
    }
  }
}

#if EXPAND
#define K_STEPS (K_BYTES / 32)
#define KEEPS_WEIGHTS (K_STEPS * GROUPS <= 4)  // in registers, for all quads

// Of 16 * GROUPS channels from one on: weights of a step of k, and of a lane's channels biases and multipliers.
__device__ __forceinline__ void load_weights(u32 (&weights)[GROUPS][4], s32 channel, s32 step) {
  const s32 lane = threadIdx.x % 32;
  const u8* from = shared_memory + OFF_EXPAND + (channel + lane / 16 * 8 + lane % 8) * K_PITCH + lane / 8 % 2 * 16 + step * 32;
#pragma unroll
  for (s32 g = 0; g < GROUPS; ++g) ldmatrix4(weights[g], from + g * 16 * K_PITCH);
}

struct ExpandEnds {
  s32 bias[GROUPS][4];
  f32 multiplier[GROUPS][4];
  __device__ __forceinline__ explicit ExpandEnds(s32 channel) {
    const uint4* from = (const uint4*)(shared_memory + OFF_EXPAND_ENDS) + channel / 2 + threadIdx.x % 4 * 2;
#pragma unroll
    for (s32 g = 0; g < GROUPS; ++g) {
      *(uint4*)bias[g] = from[8 * g];
      *(uint4*)multiplier[g] = from[8 * g + 1];
    }
  }
};

// Eight quads by 16 * GROUPS channels.
__device__ __forceinline__ void multiply_x(s32 (&acc)[2][2 * GROUPS][4], const u32 (&kept)[KEEPS_WEIGHTS ? K_STEPS : 1][GROUPS][4], s32 unit, s32 channel) {
  const s32 lane = threadIdx.x % 32;
  const u8* a = shared_memory + OFF_X + (lane / 8 % 2 * 8 * IN_UNITS + unit * 8 + lane % 8) * K_PITCH + lane / 16 * 16;
#pragma unroll
  for (s32 k = 0; k < K_STEPS; ++k) {
    u32 fa[2][4], loaded[GROUPS][4];
    ldmatrix4(fa[0], a + k * 32);
    ldmatrix4(fa[1], a + 16 * IN_UNITS * K_PITCH + k * 32);
    if (!KEEPS_WEIGHTS) load_weights(loaded, channel, k);
#pragma unroll
    for (s32 i = 0; i < 4 * GROUPS; ++i) {
      const u32* four = KEEPS_WEIGHTS ? kept[KEEPS_WEIGHTS ? k : 0][i / 4] : loaded[i / 4];
      const u32 fb[2] = {four[i % 2 * 2], four[i % 2 * 2 + 1]};
      expand_mma(acc[i / 2 % 2][i / 4 * 2 + i % 2], fa[i / 2 % 2], fb);
    }
  }
}

__device__ __forceinline__ void store_planes(u32* planes, s32 quad, const s32 (&acc)[2][2 * GROUPS][4], const ExpandEnds& ends) {
  const u8 nothing[4] = {};
  if (quad >= IN_QUADS) return;
  const u32 bytes = ((const u32*)(shared_memory + OFF_INSIDE))[quad], outside = (ZP & 255) * 0x01010101u & ~bytes;
#pragma unroll
  for (s32 i = 0; i < 4 * GROUPS; ++i) {
    const s32 g = i / 4, e = i % 4;
    f32 t[4];
#pragma unroll
    for (s32 j = 0; j < 4; ++j) t[j] = expand::scaled_real(sum_real<SHORT_EXPAND>(acc[j / 2][2 * g + e / 2][j % 2 * 2 + e % 2]), ends.multiplier[g][e], 0.0f);
    planes[(16 * g + e) * PLANE + quad] = (expand::product_codes(t, shared_memory + OFF_TABLES, nothing) & bytes) | outside;
  }
}

// A warp's share of all units of eight quads and of 16 * GROUPS channels, in this order.
__device__ __forceinline__ void expand_slice(s32 slice) {
  const s32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  s32 unit = warp;
#pragma unroll 1
  for (s32 first = 0; first < CS && slice * CS + first < C; first += 16 * GROUPS, unit -= IN_UNITS) {
    const s32 channel = slice * CS + first;
    const ExpandEnds ends(channel);
    u32 kept[KEEPS_WEIGHTS ? K_STEPS : 1][GROUPS][4];
    if (KEEPS_WEIGHTS) {
#pragma unroll
      for (s32 k = 0; k < K_STEPS; ++k) load_weights(kept[KEEPS_WEIGHTS ? k : 0], channel, k);
    }
    u32* planes = (u32*)(shared_memory + OFF_PLANES) + (first + lane % 4 * 4) * PLANE;
    for (; unit < IN_UNITS; unit += WARPS) {
      s32 acc[2][2 * GROUPS][4];
#pragma unroll
      for (s32 i = 0; i < 16 * GROUPS; ++i)
        acc[i / (8 * GROUPS)][i / 4 % (2 * GROUPS)][i % 4] = ends.bias[i / 8 % GROUPS][i / 4 % 2 * 2 + i % 2];
      multiply_x(acc, kept, unit, channel);
      store_planes(planes, unit * 8 + lane / 4, acc, ends);
    }
  }
}
#else
// Sixteen channels of four neighbouring pixels at a time.
__device__ __forceinline__ void turn_slice(s32 slice) {
  for (s32 i = threadIdx.x; i < IN_QUADS * (CS / 16); i += THREADS) {
    const s32 quad = i % IN_QUADS, c = i / IN_QUADS * 16;
    if (slice * CS + c >= C) break;
    const u8* from = shared_memory + OFF_X + quad * X_PITCH + c;
    u32* to = (u32*)(shared_memory + OFF_PLANES) + c * PLANE + quad;
    u32 codes[4][4];
#pragma unroll
    for (s32 j = 0; j < 4; ++j) *(uint4*)codes[j] = *(const uint4*)(from + j * 8 * IN_UNITS * X_PITCH);
#pragma unroll
    for (s32 v = 0; v < 4; ++v) {
      u32 turned[4];
      turn_bytes(turned, codes[0][v], codes[1][v], codes[2][v], codes[3][v]);
#pragma unroll
      for (s32 e = 0; e < 4; ++e) to[(4 * v + e) * PLANE] = turned[e];
    }
  }
}
#endif

// Four bytes from byte `at` of neighbouring words on.
__device__ __forceinline__ u32 bytes_at(const u32 (&words)[SPAN], s32 at) {
  return at % 4 == 0 ? words[at / 4] : __byte_perm(words[at / 4], words[at / 4 + 1], 0x3210u + at % 4 * 0x1111u);
}

// Codes of four neighbouring pixels in each of ROWS rows. `plane`: of one channel, from the first pixel's window on.
__device__ __forceinline__ void window_of(u32 (&codes)[ROWS], const u32* plane, s32 channel) {
  const u8 nothing[4] = {};
  const u32* taps = (const u32*)(shared_memory + OFF_TAPS) + channel * TAPS;
  u32 tap[TAPS];
#pragma unroll
  for (s32 i = 0; i < TAPS; i += 4) *(uint4*)(tap + i) = *(const uint4*)(taps + i);
  s32 acc[ROWS][4];
#pragma unroll
  for (s32 i = 0; i < 4 * ROWS; ++i) acc[i / 4][i % 4] = (s32)tap[R * WORDS_S];
#pragma unroll
  for (s32 i = 0; i < (ROWS - 1) * STRIDE_H + R; ++i) {
    u32 words[SPAN];
#pragma unroll
    for (s32 k = 0; k < SPAN; ++k) words[k] = plane[i * IN_W + k];
#pragma unroll
    for (s32 j = 0; j < 4 * WORDS_S; ++j) {
      const u32 pixels = bytes_at(words, j % 4 * STRIDE_W + j / 4 * 4);
#pragma unroll
      for (s32 r = 0; r < R; ++r) {
        const s32 from = i - r, row = from / STRIDE_H;
        if (from < 0 || from % STRIDE_H != 0 || row >= ROWS) continue;
        acc[row][j % 4] = dot4(pixels, tap[r * WORDS_S + j / 4], acc[row][j % 4]);
      }
    }
  }
  const f32 scale = ((const f32*)(shared_memory + OFF_SCALES))[channel];
#pragma unroll
  for (s32 row = 0; row < ROWS; ++row) {
    f32 t[4];
#pragma unroll
    for (s32 j = 0; j < 4; ++j) t[j] = window::scaled_real(sum_real<SHORT_WINDOW>(acc[row][j]), scale, 0.0f);
    codes[row] = window::product_codes(t, shared_memory + OFF_TABLES + 256, nothing);
  }
}

// Row (4 * i + j) * PLACES + place of the result: pixel j of row i of a thread's.
__device__ __forceinline__ void window_slice(s32 slice) {
  const u32* planes = (const u32*)(shared_memory + OFF_PLANES);
  for (s32 i = threadIdx.x; i < PLACES * (CS / 4); i += THREADS) {
    const s32 place = i / 4 % PLACES, c = (i / (4 * PLACES) * 4 + i % 4) * 4;
    if (slice * CS + c >= C) break;
    const u32* plane = planes + c * PLANE + place / QUADS * ROWS * STRIDE_H * IN_W + place % QUADS * STRIDE_W;
    u32 codes[4][ROWS];
#pragma unroll
    for (s32 e = 0; e < 4; ++e) window_of(codes[e], plane + e * PLANE, slice * CS + c + e);
    u8* to = shared_memory + OFF_A + place * A_PITCH + c;
#pragma unroll
    for (s32 row = 0; row < ROWS; ++row) {
      u32 turned[4];
      turn_bytes(turned, codes[0][row], codes[1][row], codes[2][row], codes[3][row]);
#pragma unroll
      for (s32 j = 0; j < 4; ++j) *(u32*)(to + (4 * row + j) * PLACES * A_PITCH) = turned[j];
    }
  }
}

#if PROJECT
// The first of a thread's 2 * TILES_N neighbouring channels.
__device__ __forceinline__ s32 own_channel() { return (threadIdx.x / 32 / WARPS_M * TILES_N * 4 + threadIdx.x % 4 * TILES_N) * 2; }

__device__ __forceinline__ void begin_with_biases(s32 (&acc)[TILES_M][TILES_N][4]) {
  const s32* biases = (const s32*)(shared_memory + OFF_PROJECT_ENDS) + own_channel();
#pragma unroll
  for (s32 i = 0; i < TILES_M * TILES_N * 4; ++i) acc[i / 4 / TILES_N][i / 4 % TILES_N][i % 4] = biases[i / 4 % TILES_N * 2 + i % 2];
}

__device__ __forceinline__ void multiply_slice(s32 (&acc)[TILES_M][TILES_N][4], s32 slice) {
  const s32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u8* a = shared_memory + OFF_A + (warp % WARPS_M * TILES_M * 16 + lane % 16) * A_PITCH + lane / 16 * 16;
  const u8* b = shared_memory + OFF_PROJECT + (warp / WARPS_M * TILES_N * 8 + lane / 16 * 8 + lane % 8) * P_PITCH +
                slice * A_BYTES + lane / 8 % 2 * 16;
#pragma unroll
  for (s32 k = 0; k < A_BYTES; k += 32) {
    u32 fa[TILES_M][4];
#pragma unroll
    for (s32 i = 0; i < TILES_M; ++i) ldmatrix4(fa[i], a + i * 16 * A_PITCH + k);
#pragma unroll
    for (s32 j = 0; j < TILES_N; j += 2) {
      u32 four[4];
      ldmatrix4(four, b + j * 8 * P_PITCH + k);
      const u32 fb[2][2] = {{four[0], four[1]}, {four[2], four[3]}};
#pragma unroll
      for (s32 i = 0; i < 2 * TILES_M; ++i) project_mma(acc[i / 2][j + i % 2], fa[i / 2], fb[i % 2]);
    }
  }
}

#define OWN_ROWS (2 * TILES_M)  // of the result, of a thread
#define WHOLE_TILES (OH % TH == 0 && OW % TW == 0 && 16 * TILES_M * WARPS_M == TH * TW)

// Rows and columns of a thread's pixels in the tile, in the halves of a word; those of no pixel lie outside every image.
__device__ __forceinline__ void find_places(u32 (&places)[OWN_ROWS]) {
  const s32 first = threadIdx.x / 32 % WARPS_M * TILES_M * 16 + threadIdx.x % 32 / 4;
#pragma unroll
  for (s32 i = 0; i < OWN_ROWS; ++i) {
    const s32 m = first + i * 8, place = m % PLACES, h = place / QUADS * ROWS + m / (4 * PLACES), w = place % QUADS * 4 + m / PLACES % 4;
    places[i] = m < TH * TW ? (u32)h << 16 | w : 0x7fff0000u;
  }
}

// A thread's channels of one pixel, which lies `h` rows and `w` columns from the tile's first.
__device__ __forceinline__ void finish_row(const EpilogueParams& p, const Tile& tile, s32 h, s32 w, const s32 (&acc)[TILES_N][4], s32 half) {
  const s32 channel = own_channel();
  const f32* multiplier = (const f32*)(shared_memory + OFF_PROJECT_ENDS) + N_FILLED;
  u8* to = p.out + ((s64)tile.n * Y_IMAGE + (s64)tile.h * Y_ROW + (s64)tile.w * Y_PIXEL) + (h * Y_ROW + w * Y_PIXEL);
#pragma unroll
  for (s32 v = 0; v < 2 * TILES_N; v += OUT_VEC) {
    const s32 c = channel + v;
    if (N_FILLED != N && c >= N) return;
    u32 residual[STORED_WORDS] = {};
    u8 addend[4 * STORED_WORDS] = {};
#ifdef RES_IMAGE
    const u8* from = p.residual + ((s64)tile.n * RES_IMAGE + (s64)tile.h * RES_ROW + (s64)tile.w * RES_PIXEL);
    project::load_codes<OUT_VEC>((u8*)residual, from + (h * RES_ROW + w * RES_PIXEL) + c);
#endif
#ifdef ADD_IMAGE
    const u8* other = p.addend + ((s64)tile.n * ADD_IMAGE + (s64)tile.h * ADD_ROW + (s64)tile.w * ADD_PIXEL);
    project::load_codes<OUT_VEC>(addend, other + (h * ADD_ROW + w * ADD_PIXEL) + c);
#endif
    u32 codes[STORED_WORDS];
#pragma unroll
    for (s32 e = 0; e < OUT_VEC; e += 4) {
      f32 t[4] = {};
#pragma unroll
      for (s32 i = e; i < e + 4 && i < OUT_VEC; ++i)
        t[i - e] = project::scaled_real(sum_real<SHORT_PROJECT>(acc[(v + i) / 2][2 * half + (v + i) % 2]), multiplier[c + i],
                                        project::residual_real(residual[e / 4], i - e));
      codes[e / 4] = project::product_codes(t, shared_memory + OFF_TABLES + 512, addend + e);
    }
    project::store_codes<OUT_VEC>(to + c, (const u8*)codes);
  }
}

__device__ __forceinline__ void finish(const EpilogueParams& p, const Tile& tile, const u32 (&places)[OWN_ROWS], const s32 (&acc)[TILES_M][TILES_N][4]) {
#pragma unroll
  for (s32 i = 0; i < OWN_ROWS; ++i) {
    const s32 h = (s32)(places[i] >> 16), w = (s32)(places[i] & 0xffff);
    if (WHOLE_TILES || (tile.h + h < OH && tile.w + w < OW)) finish_row(p, tile, h, w, acc[i / 2], i % 2);
  }
}
#else
__device__ __forceinline__ void result_at(u32 (&codes)[STORED_WORDS], s32 row, s32 column, s32 c) {
  const s32 m = (row % ROWS * 4 + column % 4) * PLACES + row / ROWS * QUADS + column / 4;
  window::load_codes<OUT_VEC>((u8*)codes, shared_memory + OFF_A + m * A_PITCH + c);
}

__device__ __forceinline__ void store_slice(const EpilogueParams& p, const Tile& tile, s32 slice) {
  for (s32 i = threadIdx.x; i < TH / POOL * (TW / POOL) * (CS / OUT_VEC); i += THREADS) {
    const s32 c = i % (CS / OUT_VEC) * OUT_VEC, pixel = i / (CS / OUT_VEC);
    const s32 row = pixel / (TW / POOL), column = pixel % (TW / POOL);
    const s32 h = tile.h / POOL + row, w = tile.w / POOL + column;
    if (slice * CS + c >= C || h >= OH / POOL || w >= OW / POOL) continue;
    u32 codes[STORED_WORDS] = {};
    result_at(codes, POOL * row, POOL * column, c);
#pragma unroll
    for (s32 other = 1; other < POOL * POOL; ++other) {
      u32 more[STORED_WORDS] = {};
      result_at(more, POOL * row + other / POOL, POOL * column + other % POOL, c);
#pragma unroll
      for (s32 v = 0; v < STORED_WORDS; ++v) codes[v] = larger_codes<P_S8>(codes[v], more[v]);
    }
    window::store_codes<OUT_VEC>(p.out + (s64)tile.n * Y_IMAGE + (s64)h * Y_ROW + (s64)w * Y_PIXEL + slice * CS + c, (const u8*)codes);
  }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) octet_kernel(const __grid_constant__ SeparableParams p) {
  let_successor_begin();
  load_kept(p.kept);
  wait_for_predecessor();
  load_x(p.x, Tile(blockIdx.x), 0);
  copy_async_commit();
  copy_async_wait<0>();
  __syncthreads();
#if PROJECT
  u32 places[OWN_ROWS];
  find_places(places);
#endif
  for (s32 index = blockIdx.x; index < TILES; index += gridDim.x) {
    const Tile tile(index);
#if PROJECT
    s32 acc[TILES_M][TILES_N][4];
    begin_with_biases(acc);
#endif
#pragma unroll 1
    for (s32 slice = 0; slice < SLICES; ++slice) {
#if EXPAND
      expand_slice(slice);
#else
      turn_slice(slice);
#endif
      __syncthreads();
      // What is filled from next arrives behind the window's products.
      const bool last = slice + 1 == SLICES;
      if (last ? index + gridDim.x < TILES : !EXPAND) load_x(p.x, Tile(last ? index + gridDim.x : index), last ? 0 : slice + 1);
      copy_async_commit();
      window_slice(slice);
      copy_async_wait<0>();
      __syncthreads();
#if PROJECT
      multiply_slice(acc, slice);
#else
      store_slice(p.end, tile, slice);
#endif
    }
#if PROJECT
    finish(p.end, tile, places, acc);
#endif
  }
}
