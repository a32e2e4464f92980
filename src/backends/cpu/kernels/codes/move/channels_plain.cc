// SPDX-License-Identifier: Apache-2.0
// Picked channels, byte by byte.
#include "backends/cpu/kernels/codes/move/channels_args.h"

namespace octet {

void gather_channels_plain(const ChannelRun& run) {
  const ChannelBlock& block = run.block;
  for (s64 w = 0; w < block.window_count; ++w) {
    const ChannelWindow& window = block.windows[w];
    for (s64 i = 0; i < block.count; ++i) {
      if ((window.taken >> i & 1) == 0) continue;
      const u8* src = run.src[window.input] + window.first + window.table[i];
      u8* dst = run.dst + block.first + i;
      for (s64 p = 0; p < run.pixels; ++p) {
        dst[p * run.dst_step] = src[p * run.src_steps[window.input]];
      }
    }
  }
}

}  // namespace octet
