// SPDX-License-Identifier: Apache-2.0
// QInstanceNormalization, 64 channels at a time.
#include "backends/cpu/kernels/codes/norm/norm_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

// Four products of a code and a code less 128 are below 4 * 255 * 127: s32 holds the sum of 16577 times four pixels.
constexpr s64 kChunk = 4 * 16384;

// For each 128-bit lane and k: sums[k] has channels 16 * lane + 4 * k and the next three.
struct Sums {
  __m512i sums[4], squares[4];  // squares: of code * (code - 128)
};

inline void add_pixels(Sums& s, const __m512i p[4]) {
  const __m512i ones = _mm512_set1_epi8(1), top = _mm512_set1_epi8(-128);
  const __m512i lo[2] = {_mm512_unpacklo_epi8(p[0], p[1]), _mm512_unpacklo_epi8(p[2], p[3])};
  const __m512i hi[2] = {_mm512_unpackhi_epi8(p[0], p[1]), _mm512_unpackhi_epi8(p[2], p[3])};
  const __m512i quads[4] = {
      _mm512_unpacklo_epi16(lo[0], lo[1]), _mm512_unpackhi_epi16(lo[0], lo[1]),
      _mm512_unpacklo_epi16(hi[0], hi[1]), _mm512_unpackhi_epi16(hi[0], hi[1])};
  for (int k = 0; k < 4; ++k) {
    dot4(s.sums[k], quads[k], ones);
    dot4(s.squares[k], quads[k], _mm512_xor_si512(quads[k], top));
  }
}

inline void flush(const CodeSumsArgs& args, const Sums& s, s64 first) {
  alignas(64) s32 sums[64], squares[64];
  for (int k = 0; k < 4; ++k) {
    _mm512_store_si512(sums + 16 * k, s.sums[k]);
    _mm512_store_si512(squares + 16 * k, s.squares[k]);
  }
  const s64 channels = args.channels - first < 64 ? args.channels - first : 64;
  for (s64 c = 0; c < channels; ++c) {
    const s64 at = c % 16 / 4 * 16 + c / 16 * 4 + c % 4;
    args.sums[first + c] += sums[at];
    args.squares[first + c] += squares[at] + s64{128} * sums[at];
  }
}

inline void add_run(const CodeSumsArgs& args, s64 first, s64 begin, s64 end) {
  const __mmask64 mask = first_lanes64(args.channels - first);
  Sums s;
  for (int k = 0; k < 4; ++k) s.sums[k] = s.squares[k] = _mm512_setzero_si512();
  const u8* src = args.src + begin * args.pixel_stride + first;
  s64 p = begin;
  for (; p + 4 <= end; p += 4, src += 4 * args.pixel_stride) {
    __m512i pixels[4];
    for (int i = 0; i < 4; ++i)
      pixels[i] = _mm512_maskz_loadu_epi8(mask, src + i * args.pixel_stride);
    add_pixels(s, pixels);
  }
  for (; p < end; ++p, src += args.pixel_stride) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i pixels[4] = {_mm512_maskz_loadu_epi8(mask, src), zero, zero, zero};
    add_pixels(s, pixels);
  }
  flush(args, s, first);
}

// In the order of widen_in_lanes.
inline void load_line(const f32* numbers, __m512 w[4]) {
  const __m512i at = _mm512_set_epi32(51, 50, 49, 48, 35, 34, 33, 32, 19, 18, 17, 16, 3, 2, 1, 0);
  for (int k = 0; k < 4; ++k) w[k] = _mm512_i32gather_ps(at, numbers + 4 * k, 4);
}

}  // namespace

void code_sums_vnni(const CodeSumsArgs& args) {
  for (s64 begin = 0; begin < args.pixels; begin += kChunk) {
    const s64 end = args.pixels - begin < kChunk ? args.pixels : begin + kChunk;
    for (s64 c = 0; c < args.channels; c += 64) add_run(args, c, begin, end);
  }
}

void code_lines_vnni(const CodeLinesArgs& args) {
  const CodeLimits limits = code_limits(*args.epilogue);
  for (s64 c = 0; c < args.channels; c += 64) {
    const __mmask64 mask = first_lanes64(args.channels - c);
    __m512 slope[4], offset[4];
    load_line(args.slope + c, slope);
    load_line(args.offset + c, offset);
    const u8* src = args.src + c;
    u8* dst = args.dst + c;
    for (s64 p = 0; p < args.pixels; ++p, src += args.src_stride, dst += args.dst_stride) {
      __m512i n[4];
      widen_in_lanes(_mm512_maskz_loadu_epi8(mask, src), n);
      for (int k = 0; k < 4; ++k)
        n[k] = nearest(_mm512_fmadd_ps(_mm512_cvtepi32_ps(n[k]), slope[k], offset[k]));
      _mm512_mask_storeu_epi8(dst, mask, pack_codes(n, limits));
    }
  }
}

}  // namespace octet
