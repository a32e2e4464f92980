// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of codes. A thread has four neighbouring channels of a strip: COLS outputs in each of ROWS rows. Four pixels of
// one channel, turned into one word, meet four taps in one instruction; taps that a word has not are zero.
//
// Outputs of a strip are those that share pixels: APART_H rows and APART_W columns from each other, which are MOVE_H and MOVE_W taps. So
// a window with a dilation is one without it over every DIL_W-th pixel: APART is DIL, and MOVE is STRIDE, both over their common divisor.
//
// Constants: x: X_S8, ZP_X, IH, IW, X_IMAGE, X_ROW, X_PIXEL; window: R, S, STRIDE_H, STRIDE_W, DIL_H, DIL_W, PAD_T, PAD_L;
// y: IMAGES, OH, OW, CHANNELS, Y_IMAGE, Y_ROW, Y_PIXEL, RES_..., ADD_...; ROWS, COLS, APART_..., MOVE_...; COUT: channels of y for each
// of x. VEC and OUT_VEC: bytes of one access (1, 2 or 4). ROLLED: taps are loops, else each is code of its own.
// Weights: [R][COLS][GROUPS_W][4 * WORDS] words, each of four taps of a channel for output column j and pixels 4g to 4g + 3.
#define PIXELS ((COLS - 1) * MOVE_W + S)
#define GROUPS_W ((PIXELS + 3) / 4)
#define IN_ROWS ((ROWS - 1) * MOVE_H + R)
#define WORDS ((CHANNELS + 3) / 4)
#define COL_BLOCKS (((OW + APART_W - 1) / APART_W + COLS - 1) / COLS * APART_W)
#define ROW_BLOCKS (((OH + APART_H - 1) / APART_H + ROWS - 1) / ROWS * APART_H)

#if X_S8
#define dot4 dot4_s8s8
#else
#define dot4 dot4_u8s8
#endif

// Whether a group of pixels holds taps of output column j.
__device__ __forceinline__ constexpr bool meets(int j, int g) {
  return j * MOVE_W < 4 * g + 4 && j * MOVE_W + S > 4 * g;
}

// Of a word that begins at channel c: whether its channel c + i exists.
__device__ __forceinline__ bool exists(s32 c, s32 i) { return CHANNELS % 4 == 0 || c + i < CHANNELS; }

// `from`: the pixel's first channel.
__device__ __forceinline__ u32 load_word(const u8* from, s32 c) {
  u32 word = 0;
#if COUT % 4 == 0
  word = from[c / COUT] * 0x01010101u;
#elif COUT > 1
#pragma unroll
  for (s32 i = 0; i < 4; ++i)
    if (exists(c, i)) word |= (u32)from[(c + i) / COUT] << (8 * i);
#else
#pragma unroll
  for (s32 i = 0; i < 4; i += VEC)
    if (exists(c, i)) load_codes<VEC>((u8*)&word + i, from + c + i);
#endif
  return word;
}

// Those from the strip's pixel `first` on; w: of its pixel 0.
template <int kCount>
__device__ __forceinline__ void load_row(u32 (&pixels)[kCount], const u8* image, s32 c, s32 h, s32 w, s32 first) {
  const bool row = (u32)h < (u32)IH;
#pragma unroll
  for (s32 i = 0; i < kCount; ++i) {
    const s32 at = w + (first + i) * DIL_W;
    const bool inside = first + i < PIXELS && row && (u32)at < (u32)IW;
    pixels[i] = inside ? load_word(image + (s64)h * X_ROW + (s64)at * X_PIXEL, c) : (ZP_X & 255) * 0x01010101u;
  }
}

__device__ __forceinline__ void multiply(s32 (&acc)[4], const u32 (&turned)[4], const uint4& taps) {
  acc[0] = dot4(turned[0], taps.x, acc[0]);
  acc[1] = dot4(turned[1], taps.y, acc[1]);
  acc[2] = dot4(turned[2], taps.z, acc[2]);
  acc[3] = dot4(turned[3], taps.w, acc[3]);
}

// The strip's sums; h, w: where its first window begins.
__device__ __forceinline__ void add_products(s32 (&acc)[ROWS][COLS][4], const u8* image, const uint4* weights, s32 c, s32 h, s32 w) {
#if ROLLED
  constexpr s32 kAtOnce = ROWS * COLS > 2 ? 2 : 4;  // loads that wait for memory together
#pragma unroll 1
  for (s32 r = 0; r < R; ++r) {
#pragma unroll kAtOnce
    for (s32 g = 0; g < GROUPS_W; ++g) {
      u32 pixels[ROWS][4];
      uint4 taps[COLS];
#pragma unroll
      for (s32 i = 0; i < ROWS; ++i) load_row(pixels[i], image, c, h + (i * MOVE_H + r) * DIL_H, w, 4 * g);
#pragma unroll
      for (s32 j = 0; j < COLS; ++j) taps[j] = weights[(s64)((r * COLS + j) * GROUPS_W + g) * WORDS];
#pragma unroll
      for (s32 i = 0; i < ROWS; ++i) {
        u32 turned[4];
        turn_bytes(turned, pixels[i][0], pixels[i][1], pixels[i][2], pixels[i][3]);
#pragma unroll
        for (s32 j = 0; j < COLS; ++j) multiply(acc[i][j], turned, taps[j]);
      }
    }
  }
#else
#pragma unroll
  for (s32 i = 0; i < IN_ROWS; ++i) {
    u32 pixels[4 * GROUPS_W];
    load_row(pixels, image, c, h + i * DIL_H, w, 0);
#pragma unroll
    for (s32 g = 0; g < GROUPS_W; ++g) {
      u32 turned[4];
      turn_bytes(turned, pixels[4 * g], pixels[4 * g + 1], pixels[4 * g + 2], pixels[4 * g + 3]);
#pragma unroll
      for (s32 r = 0; r < R; ++r) {
        const s32 from = i - r, row = from / MOVE_H;
        if (from < 0 || from % MOVE_H != 0 || row >= ROWS) continue;
#pragma unroll
        for (s32 j = 0; j < COLS; ++j) {
          if (!meets(j, g)) continue;
          const uint4 taps = weights[((r * COLS + j) * GROUPS_W + g) * WORDS];  // one access
          multiply(acc[row][j], turned, taps);
        }
      }
    }
  }
#endif
}

__device__ __forceinline__ void load_operand(u8 (&to)[4], const u8* from, s32 c) {
#pragma unroll
  for (s32 v = 0; v < 4; v += OUT_VEC)
    if (exists(c, v)) load_codes<OUT_VEC>(to + v, from + v);
}

__device__ __forceinline__ void finish(const EpilogueParams& p, const s32 (&acc)[4], const f32 (&scales)[4], s32 c, s32 n, s32 h, s32 w) {
  u8 residual[4] = {}, addend[4] = {};
#if EPI_RESIDUAL
  load_operand(residual, p.residual + (s64)n * RES_IMAGE + (s64)h * RES_ROW + (s64)w * RES_PIXEL + c, c);
#endif
#if EPI_SUM
  load_operand(addend, p.addend + (s64)n * ADD_IMAGE + (s64)h * ADD_ROW + (s64)w * ADD_PIXEL + c, c);
#endif
  const s64 at = (s64)n * Y_IMAGE + (s64)h * Y_ROW + (s64)w * Y_PIXEL + c;
  f32 t[4];
#pragma unroll
  for (s32 e = 0; e < 4; ++e) t[e] = product_real(acc[e], scales[e], residual[e]);
#if EPI_REAL
#pragma unroll
  for (s32 e = 0; e < 4; ++e)
    if (exists(c, e)) ((f32*)p.out)[at + e] = t[e];
#else
  const u32 codes = product_codes(t, p.table, addend);
#pragma unroll
  for (s32 v = 0; v < 4; v += OUT_VEC)
    if (exists(c, v)) store_codes<OUT_VEC>(p.out + at + v, (const u8*)&codes + v);
#endif
}

extern "C" __global__ void __launch_bounds__(128) octet_kernel(const __grid_constant__ ConvParams p) {
  let_successor_begin();
  wait_for_predecessor();
  s64 item = (s64)blockIdx.x * 128 + threadIdx.x;
  if (item >= (s64)IMAGES * ROW_BLOCKS * COL_BLOCKS * WORDS) return;
  const s32 c = (s32)(item % WORDS) * 4;
  item /= WORDS;
  const s32 col = (s32)(item % COL_BLOCKS);
  item /= COL_BLOCKS;
  const s32 row = (s32)(item % ROW_BLOCKS), n = (s32)(item / ROW_BLOCKS);
  const s32 h0 = row / APART_H * (ROWS * APART_H) + row % APART_H, w0 = col / APART_W * (COLS * APART_W) + col % APART_W;
  const u8* image = p.x + (s64)n * X_IMAGE;
  const uint4* weights = (const uint4*)p.weights + c / 4;
  s32 acc[ROWS][COLS][4];
  f32 scales[4];
#pragma unroll
  for (s32 e = 0; e < 4; ++e) {
    const s32 bias = exists(c, e) ? p.end.bias[c + e] : 0;
    scales[e] = exists(c, e) ? p.end.multiplier[c + e] : 0.0f;
#pragma unroll
    for (s32 i = 0; i < ROWS; ++i)
#pragma unroll
      for (s32 j = 0; j < COLS; ++j) acc[i][j][e] = bias;
  }
  add_products(acc, image, weights, c, h0 * STRIDE_H - PAD_T, w0 * STRIDE_W - PAD_L);
#pragma unroll
  for (s32 i = 0; i < ROWS; ++i)
#pragma unroll
    for (s32 j = 0; j < COLS; ++j) {
      const s32 h = h0 + i * APART_H, w = w0 + j * APART_W;
      if (h < OH && w < OW) finish(p.end, acc[i][j], scales, c, n, h, w);
    }
}
