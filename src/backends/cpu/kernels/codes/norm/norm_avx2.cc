// SPDX-License-Identifier: Apache-2.0
// QInstanceNormalization, 32 channels at a time.
#include "backends/cpu/kernels/codes/norm/norm_args.h"
#include "backends/cpu/kernels/codes/simd_avx2.h"

namespace octet {
namespace {

// Two squares are at most 130050: s32 holds the sum of 16512 pairs of pixels.
constexpr s64 kChunk = 2 * 16384;

// For each 128-bit lane and k: sums[k] has channels 16 * lane + 4 * k and the next three.
struct Sums {
  __m256i sums[4], squares[4];
};

inline void add_pixels(Sums& s, __m256i a, __m256i b) {
  const __m256i zero = _mm256_setzero_si256(), ones = _mm256_set1_epi16(1);
  const __m256i lo = _mm256_unpacklo_epi8(a, b), hi = _mm256_unpackhi_epi8(a, b);
  const __m256i pairs[4] = {_mm256_unpacklo_epi8(lo, zero), _mm256_unpackhi_epi8(lo, zero),
                            _mm256_unpacklo_epi8(hi, zero), _mm256_unpackhi_epi8(hi, zero)};
  for (int k = 0; k < 4; ++k) {
    s.sums[k] = _mm256_add_epi32(s.sums[k], _mm256_madd_epi16(pairs[k], ones));
    s.squares[k] = _mm256_add_epi32(s.squares[k], _mm256_madd_epi16(pairs[k], pairs[k]));
  }
}

inline void flush(const CodeSumsArgs& args, const Sums& s, s64 first) {
  alignas(32) s32 sums[32], squares[32];
  for (int k = 0; k < 4; ++k) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums + 8 * k), s.sums[k]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(squares + 8 * k), s.squares[k]);
  }
  const s64 channels = args.channels - first < 32 ? args.channels - first : 32;
  for (s64 c = 0; c < channels; ++c) {
    const s64 at = c % 16 / 4 * 8 + c / 16 * 4 + c % 4;
    args.sums[first + c] += sums[at];
    args.squares[first + c] += squares[at];
  }
}

inline void add_run(const CodeSumsArgs& args, s64 first, s64 begin, s64 end) {
  const s64 channels = args.channels - first;
  Sums s;
  for (int k = 0; k < 4; ++k) s.sums[k] = s.squares[k] = _mm256_setzero_si256();
  const u8* src = args.src + begin * args.pixel_stride + first;
  s64 p = begin;
  for (; p + 2 <= end; p += 2, src += 2 * args.pixel_stride) {
    add_pixels(s, load_bytes32(src, channels), load_bytes32(src + args.pixel_stride, channels));
  }
  if (p < end) add_pixels(s, load_bytes32(src, channels), _mm256_setzero_si256());
  flush(args, s, first);
}

// In the order of widen_in_lanes.
inline void load_line(const f32* numbers, __m256 w[4]) {
  for (int k = 0; k < 4; ++k) {
    const f32* lanes = numbers + 4 * k;
    w[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(lanes)),
                                _mm_loadu_ps(lanes + 16), 1);
  }
}

}  // namespace

void code_sums_avx2(const CodeSumsArgs& args) {
  for (s64 begin = 0; begin < args.pixels; begin += kChunk) {
    const s64 end = args.pixels - begin < kChunk ? args.pixels : begin + kChunk;
    for (s64 c = 0; c < args.channels; c += 32) add_run(args, c, begin, end);
  }
}

void code_lines_avx2(const CodeLinesArgs& args) {
  const EpilogueArgs epilogue = *args.epilogue;
  for (s64 c = 0; c < args.channels; c += 32) {
    const s64 channels = args.channels - c;
    __m256 slope[4], offset[4];
    load_line(args.slope + c, slope);
    load_line(args.offset + c, offset);
    const u8* src = args.src + c;
    u8* dst = args.dst + c;
    for (s64 p = 0; p < args.pixels; ++p, src += args.src_stride, dst += args.dst_stride) {
      __m256i n[4];
      widen_in_lanes(load_bytes32(src, channels), n);
      for (int k = 0; k < 4; ++k)
        n[k] = nearest(_mm256_fmadd_ps(_mm256_cvtepi32_ps(n[k]), slope[k], offset[k]));
      store_bytes32(pack_codes(epilogue, n), dst, channels);
    }
  }
}

}  // namespace octet
