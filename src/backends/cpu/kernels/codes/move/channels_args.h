// SPDX-License-Identifier: Apache-2.0
// Pixels whose bytes are picked from the pixels of a few images: what one call gets. Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "core/types.h"

namespace octet {

// Neighbouring bytes of one input's pixel, permuted at once.
struct ChannelWindow {
  u8 table[64];  // byte of the window for each byte of the block; 0x80 where another window has it
  u64 taken;     // bytes of the block that come from this window
  s64 input;
  s64 first;  // byte of the input's pixel
  s64 count;  // bytes that may be read
};

// Neighbouring bytes of the output's pixel.
struct ChannelBlock {
  s64 first;
  s64 count;
  const ChannelWindow* windows;
  s64 window_count;
};

struct ChannelRun {
  const u8* const* src;  // the first pixel of each input
  const s64* src_steps;  // bytes between pixels
  u8* dst;
  s64 dst_step;
  s64 pixels;
  ChannelBlock block;
};

void gather_channels_plain(const ChannelRun& run);
OCTET_X86_64(void, gather_channels_avx2, const ChannelRun& run);
OCTET_X86_64(void, gather_channels_vnni, const ChannelRun& run);
OCTET_AARCH64(void, gather_channels_neon, const ChannelRun& run);

}  // namespace octet
