// SPDX-License-Identifier: Apache-2.0
// Picked channels with tbl: blocks of 16 bytes from windows of 16, all inside their pixels. An index of another window is out of range,
// of which tbl makes zero.
#include <arm_neon.h>

#include "backends/cpu/kernels/codes/move/channels_args.h"

namespace octet {
namespace {

// The tables of the first two windows stay in registers: a shuffle of two halves has no more.
inline void two_windows(const ChannelRun& run) {
  const ChannelWindow &a = run.block.windows[0], &b = run.block.windows[1];
  const uint8x16_t table_a = vld1q_u8(a.table), table_b = vld1q_u8(b.table);
  const u8 *from_a = run.src[a.input] + a.first, *from_b = run.src[b.input] + b.first;
  const s64 step_a = run.src_steps[a.input], step_b = run.src_steps[b.input];
  u8* to = run.dst + run.block.first;
  for (s64 p = 0; p < run.pixels; ++p) {
    vst1q_u8(
        to, vorrq_u8(vqtbl1q_u8(vld1q_u8(from_a), table_a), vqtbl1q_u8(vld1q_u8(from_b), table_b)));
    from_a += step_a;
    from_b += step_b;
    to += run.dst_step;
  }
}

}  // namespace

void gather_channels_neon(const ChannelRun& run) {
  if (run.block.window_count == 2) return two_windows(run);
  for (s64 p = 0; p < run.pixels; ++p) {
    uint8x16_t bytes = vdupq_n_u8(0);
    for (s64 w = 0; w < run.block.window_count; ++w) {
      const ChannelWindow& window = run.block.windows[w];
      const u8* from = run.src[window.input] + p * run.src_steps[window.input] + window.first;
      bytes = vorrq_u8(bytes, vqtbl1q_u8(vld1q_u8(from), vld1q_u8(window.table)));
    }
    vst1q_u8(run.dst + p * run.dst_step + run.block.first, bytes);
  }
}

}  // namespace octet
