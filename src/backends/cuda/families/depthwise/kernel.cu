// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of codes. Four pixels of one channel, turned into one word, meet four taps in one instruction; taps that a word has not are zero.
#include "backends/cuda/device/epilogue.cuh"

using namespace octet::cuda;
using namespace octet::cuda::depthwise;

constexpr Spec s = Made::spec();
DEPTHWISE_RULES(OCTET_RULE_ASSERT)

using End = Epilogue<PartOf<Made, &Spec::end>>;

constexpr ConvWindow window = s.window;
constexpr s32 kRows = s.rows, kColumns = s.columns, kPixels = pixels(s), kGroups = pixel_groups(s), kInRows = in_rows(s);
constexpr s32 kWords = words(s);
constexpr s64 kStripRows = strip_rows(s), kStripColumns = strip_columns(s);

__device__ __forceinline__ s32 dot4(u32 pixels, u32 taps, s32 sum) {
  return window.x_signed ? dot4_s8s8(pixels, taps, sum) : dot4_u8s8(pixels, taps, sum);
}

// Whether a group of pixels holds taps of output column j.
__device__ __forceinline__ constexpr bool meets(int j, int g) {
  return j * s.move_w < 4 * g + 4 && j * s.move_w + window.taps_w > 4 * g;
}

// Of a word that begins at channel c: whether its channel c + i exists.
__device__ __forceinline__ bool exists(s32 c, s32 i) { return s.channels % 4 == 0 || c + i < s.channels; }

// `from`: the pixel's first channel.
__device__ __forceinline__ u32 load_word(const u8* from, s32 c) {
  u32 word = 0;
  if constexpr (window.cout % 4 == 0) {
    word = from[c / window.cout] * 0x01010101u;
  } else if constexpr (window.cout > 1) {
#pragma unroll
    for (s32 i = 0; i < 4; ++i)
      if (exists(c, i)) word |= (u32)from[(c + i) / window.cout] << (8 * i);
  } else {
#pragma unroll
    for (s32 i = 0; i < 4; i += s.x_access)
      if (exists(c, i)) load_codes<s.x_access>((u8*)&word + i, from + c + i);
  }
  return word;
}

// Those from the strip's pixel `first` on; w: of its pixel 0.
template <int kCount>
__device__ __forceinline__ void load_row(u32 (&pixels)[kCount], const u8* image, s32 c, s32 h, s32 w, s32 first) {
  const bool row = (u32)h < (u32)window.in_h;
#pragma unroll
  for (s32 i = 0; i < kCount; ++i) {
    const s32 at = w + (first + i) * window.dilation_w;
    const bool inside = first + i < kPixels && row && (u32)at < (u32)window.in_w;
    pixels[i] = inside ? load_word(image + (s64)h * s.at.x.row + (s64)at * s.at.x.pixel, c) : (window.zero_point & 255) * 0x01010101u;
  }
}

__device__ __forceinline__ void multiply(s32 (&acc)[4], const u32 (&turned)[4], const uint4& taps) {
  acc[0] = dot4(turned[0], taps.x, acc[0]);
  acc[1] = dot4(turned[1], taps.y, acc[1]);
  acc[2] = dot4(turned[2], taps.z, acc[2]);
  acc[3] = dot4(turned[3], taps.w, acc[3]);
}

// The strip's sums, taps being loops; h, w: where its first window begins.
__device__ __forceinline__ void add_in_loops(s32 (&acc)[kRows][kColumns][4], const u8* image, const uint4* weights, s32 c, s32 h, s32 w) {
  constexpr s32 kAtOnce = kRows * kColumns > 2 ? 2 : 4;  // loads that wait for memory together
#pragma unroll 1
  for (s32 r = 0; r < window.taps_h; ++r) {
#pragma unroll kAtOnce
    for (s32 g = 0; g < kGroups; ++g) {
      u32 pixels[kRows][4];
      uint4 taps[kColumns];
#pragma unroll
      for (s32 i = 0; i < kRows; ++i) load_row(pixels[i], image, c, h + (i * s.move_h + r) * window.dilation_h, w, 4 * g);
#pragma unroll
      for (s32 j = 0; j < kColumns; ++j) taps[j] = weights[(s64)tap_word(s, r, j, g) * kWords];
#pragma unroll
      for (s32 i = 0; i < kRows; ++i) {
        u32 turned[4];
        turn_bytes(turned, pixels[i][0], pixels[i][1], pixels[i][2], pixels[i][3]);
#pragma unroll
        for (s32 j = 0; j < kColumns; ++j) multiply(acc[i][j], turned, taps[j]);
      }
    }
  }
}

// The same, each tap code of its own.
__device__ __forceinline__ void add_unrolled(s32 (&acc)[kRows][kColumns][4], const u8* image, const uint4* weights, s32 c, s32 h, s32 w) {
#pragma unroll
  for (s32 i = 0; i < kInRows; ++i) {
    u32 pixels[4 * kGroups];
    load_row(pixels, image, c, h + i * window.dilation_h, w, 0);
#pragma unroll
    for (s32 g = 0; g < kGroups; ++g) {
      u32 turned[4];
      turn_bytes(turned, pixels[4 * g], pixels[4 * g + 1], pixels[4 * g + 2], pixels[4 * g + 3]);
#pragma unroll
      for (s32 r = 0; r < window.taps_h; ++r) {
        const s32 from = i - r, row = from / s.move_h;
        if (from < 0 || from % s.move_h != 0 || row >= kRows) continue;
#pragma unroll
        for (s32 j = 0; j < kColumns; ++j) {
          if (!meets(j, g)) continue;
          const uint4 taps = weights[tap_word(s, r, j, g) * kWords];  // one access
          multiply(acc[row][j], turned, taps);
        }
      }
    }
  }
}

__device__ __forceinline__ void load_operand(u8 (&to)[4], const u8* from, s32 c) {
#pragma unroll
  for (s32 v = 0; v < 4; v += s.y_access)
    if (exists(c, v)) load_codes<s.y_access>(to + v, from + v);
}

__device__ __forceinline__ void finish(const EpilogueParams& p, const u8* table, const s32 (&acc)[4], const f32 (&scales)[4], s32 c, s32 n, s32 h, s32 w) {
  u8 residual[4] = {}, addend[4] = {};
  if constexpr (s.end.residual)
    load_operand(residual, p.residual + (s64)n * s.at.residual.image + (s64)h * s.at.residual.row + (s64)w * s.at.residual.pixel + c, c);
  if constexpr (s.end.sum)
    load_operand(addend, p.addend + (s64)n * s.at.addend.image + (s64)h * s.at.addend.row + (s64)w * s.at.addend.pixel + c, c);
  const s64 at = (s64)n * s.at.y.image + (s64)h * s.at.y.row + (s64)w * s.at.y.pixel + c;
  f32 t[4];
#pragma unroll
  for (s32 e = 0; e < 4; ++e) t[e] = End::product_real(acc[e], scales[e], residual[e]);
  if constexpr (s.end.real) {
#pragma unroll
    for (s32 e = 0; e < 4; ++e)
      if (exists(c, e)) ((f32*)p.out)[at + e] = t[e];
  } else {
    const u32 codes = End::product_codes(t, table, addend);
#pragma unroll
    for (s32 v = 0; v < 4; v += s.y_access)
      if (exists(c, v)) store_codes<s.y_access>(p.out + at + v, (const u8*)&codes + v);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const u8* table = End::near_table(p.end.table, kThreads);
  s64 item = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (item >= items(s)) return;
  const s32 c = (s32)(item % kWords) * 4;
  item /= kWords;
  const s32 col = (s32)(item % kStripColumns);
  item /= kStripColumns;
  const s32 row = (s32)(item % kStripRows), n = (s32)(item / kStripRows);
  const s32 h0 = row / s.apart_h * (kRows * s.apart_h) + row % s.apart_h, w0 = col / s.apart_w * (kColumns * s.apart_w) + col % s.apart_w;
  const u8* image = p.x + (s64)n * s.at.x.image;
  const uint4* weights = (const uint4*)p.weights + c / 4;
  s32 acc[kRows][kColumns][4];
  f32 scales[4];
#pragma unroll
  for (s32 e = 0; e < 4; ++e) {
    const s32 bias = exists(c, e) ? p.end.bias[c + e] : 0;
    scales[e] = exists(c, e) ? p.end.multiplier[c + e] : 0.0f;
#pragma unroll
    for (s32 i = 0; i < kRows; ++i)
#pragma unroll
      for (s32 j = 0; j < kColumns; ++j) acc[i][j][e] = bias;
  }
  const s32 first_h = h0 * window.stride_h - window.pad_top, first_w = w0 * window.stride_w - window.pad_left;
  if constexpr (s.rolled) {
    add_in_loops(acc, image, weights, c, first_h, first_w);
  } else {
    add_unrolled(acc, image, weights, c, first_h, first_w);
  }
#pragma unroll
  for (s32 i = 0; i < kRows; ++i)
#pragma unroll
    for (s32 j = 0; j < kColumns; ++j) {
      const s32 h = h0 + i * s.apart_h, w = w0 + j * s.apart_w;
      if (h < window.out_h && w < window.out_w) finish(p.end, table, acc[i][j], scales, c, n, h, w);
    }
}
