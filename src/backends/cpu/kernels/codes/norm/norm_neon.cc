// SPDX-License-Identifier: Apache-2.0
// QInstanceNormalization, 16 channels at a time.
#include "backends/cpu/kernels/codes/norm/norm_args.h"
#include "backends/cpu/kernels/codes/simd_neon.h"

namespace octet {
namespace {

constexpr s64 kBlock = 16;
// The squares of so many codes fit u32.
constexpr s64 kChunk = 65536;

struct Sums {
  uint32x4_t sums[4], squares[4];
};

inline void add_words(uint32x4_t to[2], uint16x8_t words) {
  to[0] = vaddw_u16(to[0], vget_low_u16(words));
  to[1] = vaddw_high_u16(to[1], words);
}

inline void add_pixel(Sums& s, uint8x16_t codes) {
  const uint8x8_t low = vget_low_u8(codes);
  add_words(s.sums, vmovl_u8(low));
  add_words(s.sums + 2, vmovl_high_u8(codes));
  add_words(s.squares, vmull_u8(low, low));
  add_words(s.squares + 2, vmull_high_u8(codes, codes));
}

inline void flush(const CodeSumsArgs& args, const Sums& s, s64 first) {
  u32 sums[kBlock], squares[kBlock];
  for (int k = 0; k < 4; ++k) {
    vst1q_u32(sums + 4 * k, s.sums[k]);
    vst1q_u32(squares + 4 * k, s.squares[k]);
  }
  const s64 channels = args.channels - first < kBlock ? args.channels - first : kBlock;
  for (s64 c = 0; c < channels; ++c) {
    args.sums[first + c] += sums[c];
    args.squares[first + c] += squares[c];
  }
}

inline void add_run(const CodeSumsArgs& args, s64 first, s64 begin, s64 end) {
  const s64 channels = args.channels - first;
  Sums s;
  for (int k = 0; k < 4; ++k) s.sums[k] = s.squares[k] = vdupq_n_u32(0);
  const u8* src = args.src + begin * args.pixel_stride + first;
  for (s64 p = begin; p < end; ++p, src += args.pixel_stride)
    add_pixel(s, load_bytes16(src, channels));
  flush(args, s, first);
}

}  // namespace

void code_sums_neon(const CodeSumsArgs& args) {
  for (s64 begin = 0; begin < args.pixels; begin += kChunk) {
    const s64 end = args.pixels - begin < kChunk ? args.pixels : begin + kChunk;
    for (s64 c = 0; c < args.channels; c += kBlock) add_run(args, c, begin, end);
  }
}

void code_lines_neon(const CodeLinesArgs& args) {
  const EpilogueArgs epilogue = *args.epilogue;
  for (s64 c = 0; c < args.channels; c += kBlock) {
    const s64 channels = args.channels - c;
    float32x4_t slope[4], offset[4];
    for (int k = 0; k < 4; ++k) {
      slope[k] = vld1q_f32(args.slope + c + 4 * k);
      offset[k] = vld1q_f32(args.offset + c + 4 * k);
    }
    const u8* src = args.src + c;
    u8* dst = args.dst + c;
    for (s64 p = 0; p < args.pixels; ++p, src += args.src_stride, dst += args.dst_stride) {
      int32x4_t n[4];
      widen(load_bytes16(src, channels), n);
      for (int k = 0; k < 4; ++k)
        n[k] = nearest(vfmaq_f32(offset[k], vcvtq_f32_s32(n[k]), slope[k]));
      store_bytes16(pack_codes(epilogue, n), dst, channels);
    }
  }
}

}  // namespace octet
