// SPDX-License-Identifier: Apache-2.0
// Picked channels with vpermb (VBMI): blocks of 64 bytes from windows of 64, masked where a pixel ends.
#include "backends/cpu/kernels/codes/move/channels_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

inline __m512i picked(const ChannelWindow& window, const u8* from, __m512i table) {
  const __m512i bytes = _mm512_maskz_loadu_epi8(first_lanes64(window.count), from + window.first);
  return _mm512_maskz_permutexvar_epi8(window.taken, table, bytes);
}

// The tables of the first two windows stay in registers: a shuffle of two halves has no more.
inline void two_windows(const ChannelRun& run) {
  const ChannelWindow &a = run.block.windows[0], &b = run.block.windows[1];
  const __m512i table_a = _mm512_loadu_si512(a.table), table_b = _mm512_loadu_si512(b.table);
  const __mmask64 store = first_lanes64(run.block.count);
  const u8 *from_a = run.src[a.input], *from_b = run.src[b.input];
  u8* to = run.dst + run.block.first;
  for (s64 p = 0; p < run.pixels; ++p) {
    const __m512i bytes = picked(a, from_a, table_a) | picked(b, from_b, table_b);
    _mm512_mask_storeu_epi8(to, store, bytes);
    from_a += run.src_steps[a.input];
    from_b += run.src_steps[b.input];
    to += run.dst_step;
  }
}

}  // namespace

void gather_channels_vnni(const ChannelRun& run) {
  if (run.block.window_count == 2) return two_windows(run);
  const __mmask64 store = first_lanes64(run.block.count);
  for (s64 p = 0; p < run.pixels; ++p) {
    __m512i bytes = _mm512_setzero_si512();
    for (s64 w = 0; w < run.block.window_count; ++w) {
      const ChannelWindow& window = run.block.windows[w];
      const u8* from = run.src[window.input] + p * run.src_steps[window.input];
      bytes = bytes | picked(window, from, _mm512_loadu_si512(window.table));
    }
    _mm512_mask_storeu_epi8(run.dst + p * run.dst_step + run.block.first, store, bytes);
  }
}

}  // namespace octet
