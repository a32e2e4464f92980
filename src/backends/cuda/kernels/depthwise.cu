// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of codes. A thread has four neighbouring channels of COLS neighbouring outputs in each of ROWS rows. Four
// neighbouring pixels of one channel, turned into one word, meet four taps in one instruction; taps that a word has not are zero.
//
// Constants: x: X_S8, ZP_X, IH, IW, X_IMAGE, X_ROW, X_PIXEL; window: R, S, STRIDE_H, STRIDE_W, DIL_H (DIL_W is 1), PAD_T, PAD_L;
// y: IMAGES, OH, OW, CHANNELS, Y_IMAGE, Y_ROW, Y_PIXEL, RES_..., ADD_...; ROWS, COLS. VEC and OUT_VEC: bytes of one
// access (1, 2 or 4).
// Weights: [R][COLS][GROUPS_W][4 * WORDS] words, each of four taps of a channel for output column j and pixels 4g to 4g + 3.
#define PIXELS ((COLS - 1) * STRIDE_W + S)
#define GROUPS_W ((PIXELS + 3) / 4)
#define IN_ROWS ((ROWS - 1) * STRIDE_H + (R - 1) * DIL_H + 1)
#define WORDS ((CHANNELS + 3) / 4)
#define COL_BLOCKS ((OW + COLS - 1) / COLS)
#define ROW_BLOCKS ((OH + ROWS - 1) / ROWS)

#if X_S8
#define dot4 dot4_s8s8
#else
#define dot4 dot4_u8s8
#endif

// Whether a group of pixels holds taps of output column j.
__device__ __forceinline__ constexpr bool meets(int j, int g) {
  return j * STRIDE_W < 4 * g + 4 && j * STRIDE_W + S > 4 * g;
}

// Of a word that begins at channel c: whether its channel c + i exists.
__device__ __forceinline__ bool exists(s32 c, s32 i) { return CHANNELS % 4 == 0 || c + i < CHANNELS; }

__device__ __forceinline__ u32 load_word(const u8* from, s32 c) {
  u32 word = 0;
#pragma unroll
  for (s32 i = 0; i < 4; i += VEC)
    if (exists(c, i)) load_codes<VEC>((u8*)&word + i, from + i);
  return word;
}

__device__ __forceinline__ void load_row(u32 (&pixels)[4 * GROUPS_W], const u8* image, s32 c, s32 h, s32 w) {
  const bool row = (u32)h < (u32)IH;
#pragma unroll
  for (s32 i = 0; i < 4 * GROUPS_W; ++i) {
    const bool inside = i < PIXELS && row && (u32)(w + i) < (u32)IW;
    pixels[i] = inside ? load_word(image + (s64)h * X_ROW + (s64)(w + i) * X_PIXEL, c) : (ZP_X & 255) * 0x01010101u;
  }
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
  const s32 w0 = (s32)(item % COL_BLOCKS) * COLS;
  item /= COL_BLOCKS;
  const s32 h0 = (s32)(item % ROW_BLOCKS) * ROWS, n = (s32)(item / ROW_BLOCKS);
  const u8* image = p.x + (s64)n * X_IMAGE + c;
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
#pragma unroll
  for (s32 i = 0; i < IN_ROWS; ++i) {
    u32 pixels[4 * GROUPS_W];
    load_row(pixels, image, c, h0 * STRIDE_H - PAD_T + i, w0 * STRIDE_W - PAD_L);
#pragma unroll
    for (s32 g = 0; g < GROUPS_W; ++g) {
      u32 turned[4];
      turn_bytes(turned, pixels[4 * g], pixels[4 * g + 1], pixels[4 * g + 2], pixels[4 * g + 3]);
#pragma unroll
      for (s32 r = 0; r < R; ++r) {
        const s32 from = i - r * DIL_H, row = from / STRIDE_H;
        if (from < 0 || from % STRIDE_H != 0 || row >= ROWS) continue;
#pragma unroll
        for (s32 j = 0; j < COLS; ++j) {
          if (!meets(j, g)) continue;
          const uint4 taps = weights[((r * COLS + j) * GROUPS_W + g) * WORDS];
          acc[row][j][0] = dot4(turned[0], taps.x, acc[row][j][0]);
          acc[row][j][1] = dot4(turned[1], taps.y, acc[row][j][1]);
          acc[row][j][2] = dot4(turned[2], taps.z, acc[row][j][2]);
          acc[row][j][3] = dot4(turned[3], taps.w, acc[row][j][3]);
        }
      }
    }
  }
#pragma unroll
  for (s32 i = 0; i < ROWS; ++i)
#pragma unroll
    for (s32 j = 0; j < COLS; ++j)
      if (h0 + i < OH && w0 + j < OW) finish(p.end, acc[i][j], scales, c, n, h0 + i, w0 + j);
}
