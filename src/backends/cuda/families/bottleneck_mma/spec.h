// SPDX-License-Identifier: Apache-2.0
// A ResNet bottleneck of codes by mma.sync: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/bottleneck.h"

namespace octet::cuda::bottleneck_mma {

using bottleneck::ends;
using bottleneck::groups;
using bottleneck::kChannels;
using bottleneck::kTaps;
using bottleneck::kTileBytes;
using bottleneck::Shortcut;
using bottleneck::weight_tiles;

#define BOTTLENECK_MMA_FIELDS(FIELD)                                                  \
  BOTTLENECK_BLOCK_FIELDS(FIELD)                                                      \
  FIELD(PixelStrides, x)                                                              \
  FIELD(s32, cin)                                                                     \
  FIELD(bool, short_reduce) /* all sums with their biases are shorter than 23 bits */ \
  FIELD(bool, short_spatial)                                                          \
  FIELD(bool, short_expand)                                                           \
  FIELD(bool, short_project)                                                          \
  FIELD(s32, strip)   /* rows of y between two barriers */                            \
  FIELD(s32, tiles_m) /* of 16 pixels, of a warp */                                   \
  FIELD(s32, warps)
OCTET_SPEC(Spec, BOTTLENECK_MMA_FIELDS)

#define BOTTLENECK_MMA_RULES(RULE)                                                               \
  BOTTLENECK_BLOCK_RULES(RULE)                                                                   \
  RULE(s.strip >= 1 && s.strip <= s.height, "a strip is of one image")                           \
  RULE(s.tiles_m == 1 || s.tiles_m == 2, "a thread has registers for sums of two tiles")         \
  RULE(s.warps >= 1 && s.warps <= 32, "a block has at most 1024 threads")                        \
  RULE(s.cin % 16 == 0, "a thread loads 16 channels of x")                                       \
  RULE(s.x.image % 16 == 0 && s.x.row % 16 == 0 && s.x.pixel % 16 == 0, "a load is of 16 bytes") \
  RULE(s.shortcut != Shortcut::identity || s.cout == s.cin, "x is added to y")
OCTET_RULES(Spec, BOTTLENECK_MMA_RULES)

constexpr s32 threads(const Spec& s) { return 32 * s.warps; }
// Pixels that a warp multiplies at once.
constexpr s32 unit(const Spec& s) { return 16 * s.tiles_m; }
constexpr s32 strips_of_image(const Spec& s) { return ceil_div_s32(s.height, s.strip); }
constexpr s32 strips(const Spec& s) { return s.rows / s.height * strips_of_image(s); }
// Reduced rows in shared memory: the strip's and one on both sides.
constexpr s32 ring_rows(const Spec& s) { return s.strip + kTaps - 1; }
constexpr s32 ring_width(const Spec& s) { return s.width + kTaps - 1; }

// Where things lie in shared memory, behind the tiles of weights: the ring of reduced pixels, scales, biases.
struct Memory {
  s32 ring, scales, biases, all;
};
constexpr Memory memory(const Spec& s) {
  constexpr s32 kWord = 4;
  Memory m{};
  m.ring = weight_tiles(s).all * kTileBytes;
  m.scales = m.ring + ring_rows(s) * ring_width(s) * kChannels;
  m.biases = m.scales + ends(s) * kChannels * kWord;
  m.all = m.biases + ends(s) * kChannels * kWord;
  return m;
}

struct Params {
  const u8* x;
  const u8*
      weights;  // tiles of 64 channels (channel_of_row()) by 64 bytes of k, swizzled; k as a thread owns channels (channel_of_byte()) but for the window's
  const f32* scales;  // of all channels of ends(), place_of_end()
  const s32* biases;  // in which short sums begin with the bits of 1.5 * 2^23
  u8* out;
};

}  // namespace octet::cuda::bottleneck_mma
