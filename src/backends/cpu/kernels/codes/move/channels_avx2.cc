// SPDX-License-Identifier: Apache-2.0
// Picked channels with vpshufb: blocks of 16 bytes from windows of 16, all inside their pixels.
#include <immintrin.h>

#include "backends/cpu/kernels/codes/move/channels_args.h"

namespace octet {
namespace {

inline __m128i load16(const u8* src) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
}

inline void store16(u8* dst, __m128i bytes) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), bytes);
}

// The tables of the first two windows stay in registers: a shuffle of two halves has no more.
inline void two_windows(const ChannelRun& run) {
  const ChannelWindow &a = run.block.windows[0], &b = run.block.windows[1];
  const __m128i table_a = load16(a.table), table_b = load16(b.table);
  const u8 *from_a = run.src[a.input] + a.first, *from_b = run.src[b.input] + b.first;
  const s64 step_a = run.src_steps[a.input], step_b = run.src_steps[b.input];
  u8* to = run.dst + run.block.first;
  for (s64 p = 0; p < run.pixels; ++p) {
    store16(to, _mm_or_si128(_mm_shuffle_epi8(load16(from_a), table_a),
                             _mm_shuffle_epi8(load16(from_b), table_b)));
    from_a += step_a;
    from_b += step_b;
    to += run.dst_step;
  }
}

}  // namespace

void gather_channels_avx2(const ChannelRun& run) {
  if (run.block.window_count == 2) return two_windows(run);
  for (s64 p = 0; p < run.pixels; ++p) {
    __m128i bytes = _mm_setzero_si128();
    for (s64 w = 0; w < run.block.window_count; ++w) {
      const ChannelWindow& window = run.block.windows[w];
      const u8* from = run.src[window.input] + p * run.src_steps[window.input] + window.first;
      bytes = _mm_or_si128(bytes, _mm_shuffle_epi8(load16(from), load16(window.table)));
    }
    store16(run.dst + p * run.dst_step + run.block.first, bytes);
  }
}

}  // namespace octet
