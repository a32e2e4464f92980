// SPDX-License-Identifier: Apache-2.0
// Convolution with sdot: 6 pixels x 16 channels, 24 accumulators. The instruction multiplies four bytes of one lane by those of
// four channels, so the six windows are first written side by side, four bytes of each in turn: a register of four pixels and half
// a one of two serve 24 instructions. It knows no u8 by s8: codes less 128 are what is written, and the packing adds 128 times
// the sum of the weights to the bias (ConvKernel::shift).
#include "backends/cpu/kernels/codes/conv/conv_pixels.h"
#include "backends/cpu/kernels/codes/conv/finish_neon.h"

namespace octet {
namespace {

constexpr s64 kFour = 4 * kConvChunk,
              kTwo = 2 * kConvChunk;  // bytes of a chunk of four pixels, and of two

struct Interleaved {
  const s8* four;
  const s8* two;  // behind all of `four`
};

inline uint32x4_t shifted(const u8* src) {
  return vreinterpretq_u32_u8(veorq_u8(vld1q_u8(src), vdupq_n_u8(0x80)));
}

// kRows windows from `src` on, of one chunk or of four that lie one behind the other.
template <int kRows>
inline void write_chunk(const u8* const* src, s64 offset, u8* dst) {
#pragma GCC unroll 4
  for (int m = 0; m < kRows; ++m, dst += kConvChunk) {
    u32 bytes;
    memcpy(&bytes, src[m] + offset, sizeof(bytes));
    bytes ^= 0x80808080u;
    memcpy(dst, &bytes, sizeof(bytes));
  }
}
[[gnu::always_inline]] inline void write_four_chunks(const TileRows& rows, s64 offset, u8* four,
                                                     u8* two) {
  uint32x4x4_t x;
#pragma GCC unroll 4
  for (int m = 0; m < 4; ++m) x.val[m] = shifted(rows.src[m] + offset);
  vst4q_u32(reinterpret_cast<u32*>(four), x);
  uint32x4x2_t y;
#pragma GCC unroll 2
  for (int m = 0; m < 2; ++m) y.val[m] = shifted(rows.src[4 + m] + offset);
  vst2q_u32(reinterpret_cast<u32*>(two), y);
}

Interleaved interleave(const ConvTile& tile) {
  const TileRows rows(tile);
  u8* four = static_cast<u8*>(tile.scratch);
  u8* two = four + tile.chunks * kFour;
  const Interleaved written{reinterpret_cast<s8*>(four), reinterpret_cast<s8*>(two)};
  for (s64 k = 0; k < tile.chunks;) {
    const s64 offset = tile.offsets[k];
    u8 *to_four = four + k * kFour, *to_two = two + k * kTwo;
    if (k + 4 <= tile.chunks && adjoining(tile.offsets + k)) {
      write_four_chunks(rows, offset, to_four, to_two);
      k += 4;
      continue;
    }
    write_chunk<4>(rows.src, offset, to_four);
    write_chunk<2>(rows.src + 4, offset, to_two);
    ++k;
  }
  return written;
}

// acc += sums of four bytes of the lane by those of each channel. Written as asm: g++ 12 copies some accumulators around the intrinsic, in
// each step.
template <int kLane>
[[gnu::always_inline]] inline void dot4(int32x4_t& acc, int8x16_t weights, int8x16_t pixels) {
  asm("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(acc) : "w"(weights), "w"(pixels), "i"(kLane));
}

// One chunk of 16 channels; of `two` the pixels that begin at a lane.
template <int kPixels, int kTwoLane>
[[gnu::always_inline]] inline void add_chunk(int32x4_t acc[kPixels][4], const s8* weights,
                                             int8x16_t four, int8x16_t two) {
  int8x16_t w[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) w[v] = vld1q_s8(weights + 16 * v);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    dot4<0>(acc[0][v], w[v], four);
    if constexpr (kPixels > 1) dot4<1>(acc[1][v], w[v], four);
    if constexpr (kPixels > 2) dot4<2>(acc[2][v], w[v], four);
    if constexpr (kPixels > 3) dot4<3>(acc[3][v], w[v], four);
    if constexpr (kPixels > 4) dot4<kTwoLane>(acc[4][v], w[v], two);
    if constexpr (kPixels > 5) dot4<kTwoLane + 1>(acc[5][v], w[v], two);
  }
}

template <int kPixels>
[[gnu::always_inline]] inline void add_two(int32x4_t acc[kPixels][4], const s8* weights,
                                           const s8* four, const s8* two) {
  const int8x16_t pixels = kPixels > 4 ? vld1q_s8(two) : vdupq_n_s8(0);
  add_chunk<kPixels, 0>(acc, weights, vld1q_s8(four), pixels);
  add_chunk<kPixels, 2>(acc, weights + 64, vld1q_s8(four + kFour), pixels);
}

// Weights: [channels/16][chunks][16][4] s8
template <int kPixels>
[[gnu::always_inline]] inline void block(const ConvTile& tile, s64 c, Interleaved x) {
  int32x4_t acc[kPixels][4];
  start_tile<kPixels>(tile, c, acc);
  const s8* weights = static_cast<const s8*>(tile.weights) + c * tile.chunks * kConvChunk;
  s64 k = 0;
  for (; k + 4 <= tile.chunks; k += 4) {
    add_two<kPixels>(acc, weights, x.four, x.two);
    add_two<kPixels>(acc, weights + 128, x.four + 2 * kFour, x.two + 2 * kTwo);
    weights += 256;
    x.four += 4 * kFour;
    x.two += 4 * kTwo;
  }
  if (k + 2 <= tile.chunks) {
    add_two<kPixels>(acc, weights, x.four, x.two);
    weights += 128;
    x.four += 2 * kFour;
    x.two += 2 * kTwo;
    k += 2;
  }
  if (k < tile.chunks) {
    const int8x8_t two = kPixels > 4 ? vld1_s8(x.two) : vdup_n_s8(0);
    add_chunk<kPixels, 0>(acc, weights, vld1q_s8(x.four), vcombine_s8(two, two));
  }
  finish_tile<kPixels>(tile, c, acc);
}

template <int kPixels>
void row(const ConvTile& tile) {
  const Interleaved x = interleave(tile);
  for (s64 c = 0; c < tile.channels; c += kConvLanes) block<kPixels>(tile, c, x);
}

}  // namespace

void conv_u8s8_6x16_dotprod(const ConvTile& tile) {
  with_pixels(tile, [&](auto n) { row<decltype(n)::kPixels>(tile); });
}

}  // namespace octet
