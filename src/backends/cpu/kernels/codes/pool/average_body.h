// SPDX-License-Identifier: Apache-2.0
// Average pools of one instruction set, a register of channels at a time. The including file defines OCTET_ISA(name) and
// includes its simd header.
#pragma once

#include "backends/cpu/kernels/codes/pool/pool_args.h"

namespace octet {
namespace {

// Sums of at most 257 codes fit u16; longer runs are flushed to s32.
constexpr s64 kFlush = 257;

struct Sums {
  Ints lo, hi;    // u16: in each 128-bit lane 8 channels, and the next 8
  Ints total[4];  // s32, the order of widen_in_lanes
  s64 pending;
};

inline void flush(Sums& s) {
  const Ints zero = no_ints();
  s.total[0] = add_s32(s.total[0], low_words(s.lo, zero));
  s.total[1] = add_s32(s.total[1], high_words(s.lo, zero));
  s.total[2] = add_s32(s.total[2], low_words(s.hi, zero));
  s.total[3] = add_s32(s.total[3], high_words(s.hi, zero));
  s.lo = s.hi = zero;
  s.pending = 0;
}

inline void add_codes(Sums& s, Ints codes) {
  const Ints zero = no_ints();
  s.lo = add_u16(s.lo, low_bytes(codes, zero));
  s.hi = add_u16(s.hi, high_bytes(codes, zero));
  if (++s.pending == kFlush) flush(s);
}

inline void finish(const PooledPixel& window, const Sums& s, u8* dst, Lanes lanes) {
  const EpilogueArgs& e = *window.epilogue;
  const Ints zero_sum = all(window.zero_sum);
  Reals t[4];
  for (int j = 0; j < 4; ++j) {
    t[j] = mul_f32(to_reals(sub_s32(s.total[j], zero_sum)), all(window.multiplier));
    if (e.leaky) t[j] = leaky(t[j], e.alpha);
  }
  store_codes(final_codes(e, t), dst, lanes);
}

}  // namespace

void OCTET_ISA(average_pool_u8)(const PooledPixel& window) {
  for (s64 c = 0; c < window.channels; c += kCodes) {
    const Lanes lanes = first_codes(window.channels - c);
    const Ints zero = no_ints();
    Sums sums{zero, zero, {zero, zero, zero, zero}, 0};
    for (s64 y = 0; y < window.rows; ++y) {
      const u8* src = window.src + y * window.row_stride + c;
      for (s64 x = 0; x < window.columns; ++x, src += window.column_stride)
        add_codes(sums, load_codes(src, lanes));
    }
    flush(sums);
    finish(window, sums, window.dst + c, lanes);
  }
}

}  // namespace octet
