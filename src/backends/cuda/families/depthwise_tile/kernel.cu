// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of codes. A block turns four pixels of a channel into one word as it brings a tile to shared memory; a lane goes down the rows of its
// channel, its taps in registers, and a row of pixels meets all rows of outputs that it belongs to.
#include "backends/cuda/device/epilogue.cuh"

using namespace octet::cuda;
using namespace octet::cuda::depthwise_tile;

constexpr Spec s = Made::spec();
DEPTHWISE_TILE_RULES(OCTET_RULE_ASSERT)

using End = Epilogue<PartOf<Made, &Spec::end>>;

constexpr ConvWindow window = s.window;
constexpr s32 kRows = s.rows, kColumns = s.columns, kPixels = pixels(s), kWords = words(s), kTapWords = tap_words(s), kPlane = plane(s), kThreads = threads(s);
constexpr s32 kChannelWords = kLanes / 4;  // of a pixel, of a block

extern __shared__ u32 tile[];  // [channel][row of pixels][word]

struct Place {
  s32 c, n, h, w;  // the tile's first channel, and its first output

  __device__ __forceinline__ Place() {
    s32 rest = (s32)blockIdx.x;
    c = rest % slices(s) * kLanes;
    rest /= slices(s);
    w = first_of<s.apart_w>(rest % tile_columns(s), kColumns);
    rest /= tile_columns(s);
    h = first_of<s.apart_h>(rest % tile_rows(s), kRows * s.warps);
    n = rest / tile_rows(s);
  }
  // Of `kApart` neighbouring tiles each has the next row or column that the others leave out.
  template <s32 kApart>
  static __device__ __forceinline__ s32 first_of(s32 at, s32 size) { return at / kApart * (size * kApart) + at % kApart; }
};

// Four channels of a pixel, from channel c on.
__device__ __forceinline__ u32 load_channels(const u8* from, s32 c) {
  u32 word = 0;
#pragma unroll
  for (s32 i = 0; i < 4; i += s.x_access)
    if (s.channels % kLanes == 0 || c + i < s.channels) load_codes<s.x_access>((u8*)&word + i, from + i);
  return word;
}

__device__ __forceinline__ void bring_tile(const u8* image, const Place& place) {
  const s32 h0 = place.h * window.stride_h - window.pad_top, w0 = place.w * window.stride_w - window.pad_left;
#pragma unroll 2
  for (s32 i = (s32)threadIdx.x; i < in_rows(s) * kWords * kChannelWords; i += kThreads) {
    const s32 own = i % kChannelWords * 4, at = i / kChannelWords, first = at % kWords * 4;
    const s32 h = h0 + at / kWords * window.dilation_h, c = place.c + own;
    const bool row = (u32)h < (u32)window.in_h && (s.channels % kLanes == 0 || c < s.channels);
    const u8* from = image + (s64)h * s.at.x.row + c;
    u32 pixels[4], turned[4];
#pragma unroll
    for (s32 k = 0; k < 4; ++k) {
      const s32 w = w0 + (first + k) * window.dilation_w;
      const bool inside = row && first + k < kPixels && (u32)w < (u32)window.in_w;
      pixels[k] = inside ? load_channels(from + (s64)w * s.at.x.pixel, c) : (window.zero_point & 255) * 0x01010101u;
    }
    turn_bytes(turned, pixels[0], pixels[1], pixels[2], pixels[3]);
#pragma unroll
    for (s32 e = 0; e < 4; ++e) tile[(own + e) * kPlane + at] = turned[e];
  }
}

__device__ __forceinline__ s32 dot4(u32 pixels, u32 taps, s32 sum) {
  return window.x_signed ? dot4_s8s8(pixels, taps, sum) : dot4_u8s8(pixels, taps, sum);
}

// Four pixels from pixel `at` of a row on; what is beyond the row meets taps of 0.
__device__ __forceinline__ u32 four_from(const u32 (&row)[kWords], s32 at) {
  const u32 word = row[at / 4], next = at / 4 + 1 < kWords ? row[at / 4 + 1 < kWords ? at / 4 + 1 : 0] : 0;
  return at % 4 == 0 ? word : __byte_perm(word, next, at % 4 == 1 ? 0x4321u : at % 4 == 2 ? 0x5432u : 0x6543u);
}

struct Lane {
  s32 channel;
  bool exists;
  s32 bias;
  f32 scale;
  u32 taps[window.taps_h][kTapWords];

  __device__ __forceinline__ Lane(const Params& p, s32 c) : channel(c), exists(s.channels % kLanes == 0 || c < s.channels) {
#pragma unroll
    for (s32 r = 0; r < window.taps_h; ++r)
#pragma unroll
      for (s32 g = 0; g < kTapWords; ++g) taps[r][g] = p.weights[tap_word(s, r, g) * (slices(s) * kLanes) + c];
    bias = exists ? p.end.bias[c] : 0;
    scale = exists ? p.end.multiplier[c] : 0.0f;
  }
  // Row i of the warp's pixels meets its taps in each row of outputs.
  __device__ __forceinline__ void add_row(s32 (&sums)[kRows][kColumns], const u32 (&row)[kWords], s32 i) const {
#pragma unroll
    for (s32 at = 0; at <= (kColumns - 1) * s.move_w + 4 * (kTapWords - 1); ++at) {
#pragma unroll
      for (s32 g = 0; g < kTapWords; ++g) {
        const s32 column = (at - 4 * g) / s.move_w;
        if (at < 4 * g || (at - 4 * g) % s.move_w != 0 || column >= kColumns) continue;
#pragma unroll
        for (s32 r = 0; r < window.taps_h; ++r) {
          const s32 to = (i - r) / s.move_h;
          if (i < r || (i - r) % s.move_h != 0 || to >= kRows) continue;
          sums[to][column] = dot4(four_from(row, at), taps[r][g], sums[to][column]);
        }
      }
    }
  }
};

// Of four lanes, each with four columns of its channel, the four channels of one column: lane q has column q.
__device__ __forceinline__ u32 turned_codes(u32 codes) {
  const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
  const u32 beside = __byte_perm(codes, __shfl_xor_sync(0xffffffffu, codes, 1), odd ? 0x3715u : 0x6240u);
  return __byte_perm(beside, __shfl_xor_sync(0xffffffffu, beside, 2), high ? 0x3276u : 0x5410u);
}

// Outputs of a row, four of them at a time.
__device__ __forceinline__ void finish(const Params& p, const u8* table, const s32 (&sums)[kColumns], const Lane& lane, s32 n, s32 h, s32 w0) {
#pragma unroll
  for (s32 j = 0; j < kColumns; j += 4) {
    f32 t[4];
    u8 addend[4] = {};
#pragma unroll
    for (s32 e = 0; e < 4; ++e) {
      const s32 w = w0 + (j + e) * s.apart_w;
      const bool inside = lane.exists && j + e < kColumns && w < window.out_w;
      u8 residual = 0;
      if constexpr (s.end.residual)
        if (inside) residual = p.end.residual[(s64)n * s.at.residual.image + (s64)h * s.at.residual.row + (s64)w * s.at.residual.pixel + lane.channel];
      if constexpr (s.end.sum)
        if (inside) addend[e] = p.end.addend[(s64)n * s.at.addend.image + (s64)h * s.at.addend.row + (s64)w * s.at.addend.pixel + lane.channel];
      t[e] = End::product_real(j + e < kColumns ? sums[j + e < kColumns ? j + e : 0] : 0, lane.scale, residual);
      if constexpr (s.end.real)
        if (inside) ((f32*)p.end.out)[(s64)n * s.at.y.image + (s64)h * s.at.y.row + (s64)w * s.at.y.pixel + lane.channel] = t[e];
    }
    if constexpr (!s.end.real) {
      const u32 codes = End::product_codes(t, table, addend);
      u8* const y = p.end.out + (s64)n * s.at.y.image + (s64)h * s.at.y.row;
      if constexpr (s.y_access == 4) {
        const s32 q = threadIdx.x % 4, w = w0 + (j + q) * s.apart_w;
        const u32 word = turned_codes(codes);
        if (lane.exists && (j + 4 <= kColumns || j + q < kColumns) && w < window.out_w) *(u32*)(y + (s64)w * s.at.y.pixel + lane.channel / 4 * 4) = word;
      } else {
#pragma unroll
        for (s32 e = 0; e < 4 && j + e < kColumns; ++e) {
          const s32 w = w0 + (j + e) * s.apart_w;
          if (lane.exists && w < window.out_w) y[(s64)w * s.at.y.pixel + lane.channel] = (u8)(codes >> (8 * e));
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  const Place place;
  const s32 warp = (s32)threadIdx.x / kLanes, own = (s32)threadIdx.x % kLanes;
  const Lane lane(p, place.c + own);
  wait_for_predecessor();
  const u8* table = p.end.table;
  if constexpr (s.end.fine) {
    u8* near = (u8*)(tile + kLanes * kPlane);
    End::copy_table(near, table, threadIdx.x, kThreads);
    table = near;
  }
  bring_tile(p.x + (s64)place.n * s.at.x.image, place);
  __syncthreads();
  const s32 h0 = place.h + warp * kRows * s.apart_h;
  if (h0 >= window.out_h) return;
  const u32* from = tile + own * kPlane + warp * kRows * s.move_h * kWords;
  s32 sums[kRows][kColumns];
#pragma unroll
  for (s32 i = 0; i < own_rows(s); ++i) {
    u32 row[kWords];
#pragma unroll
    for (s32 g = 0; g < kWords; ++g) row[g] = from[i * kWords + g];
    if (i % s.move_h == 0 && i / s.move_h < kRows) {
#pragma unroll
      for (s32 j = 0; j < kColumns; ++j) sums[i / s.move_h < kRows ? i / s.move_h : 0][j] = lane.bias;
    }
    lane.add_row(sums, row, i);
    const s32 ended = i - (window.taps_h - 1), to = ended / s.move_h;
    if (ended < 0 || ended % s.move_h != 0) continue;
    const s32 h = h0 + to * s.apart_h;
    if (h >= window.out_h) return;
    finish(p, table, sums[to], lane, place.n, h, place.w);
  }
}
