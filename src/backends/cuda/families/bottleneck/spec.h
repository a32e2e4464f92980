// SPDX-License-Identifier: Apache-2.0
// A ResNet bottleneck of codes on a Hopper: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/epilogue.h"
#include "backends/cuda/device/tensor_map.h"

namespace octet::cuda::bottleneck {

// What is added to y.
enum class Shortcut : s32 { none, identity, projection };

#define BOTTLENECK_FIELDS(FIELD)                                                           \
  FIELD(s32, width)  /* pixels of a row: at most 64 */                                     \
  FIELD(s32, height) /* rows of an image */                                                \
  FIELD(s32, rows)   /* of all images */                                                   \
  FIELD(s32, chunks) /* of 64 channels of x */                                             \
  FIELD(s32, cout)                                                                         \
  FIELD(Shortcut, shortcut)                                                                \
  FIELD(bool, x_signed)                                                                    \
  FIELD(bool, reduced_signed)                                                              \
  FIELD(bool, spatial_signed)                                                              \
  FIELD(s32, border) /* zero point of the reduced row */                                   \
  FIELD(PixelStrides, y)                                                                   \
  FIELD(s32, y_access)    /* channels that are stored at once */                           \
  FIELD(s32, warpgroups)  /* of a block, each with rows of its own */                      \
  FIELD(s32, stages)      /* rows of x of a warpgroup in shared memory */                  \
  FIELD(bool, bias_added) /* some bias has too many digits for a product: all are added */ \
  FIELD(EpilogueSpec, reduce)                                                              \
  FIELD(EpilogueSpec, spatial)                                                             \
  FIELD(EpilogueSpec, expand)                                                              \
  FIELD(EpilogueSpec, project)
OCTET_SPEC(Spec, BOTTLENECK_FIELDS)

#define BOTTLENECK_RULES(RULE)                                                     \
  RULE(s.width <= 64, "a row of pixels is 64 rows of a product")                   \
  RULE(s.stages >= 2, "one row of x comes while another is reduced")               \
  RULE(!s.reduce.table && !s.spatial.table && !s.expand.table && !s.project.table, \
       "no table is in shared memory")                                             \
  RULE(16 % s.y_access == 0, "a thread stores 16 channels")
OCTET_RULES(Spec, BOTTLENECK_RULES)

constexpr s32 kChannels = 64;  // of a tile, and rows and bytes of one
constexpr s32 kTileBytes = kChannels * kChannels;
constexpr s32 kTaps = 3;  // of the window, in a row and in a column; and rows in the ring

constexpr s32 threads(const Spec& s) { return 128 * s.warpgroups; }
constexpr s32 groups(const Spec& s) {
  return ceil_div_s32(s.cout, kChannels);
}  // of 64 channels of y
// Groups of 64 channels that end somewhere: reduced, spatial, expanded, projected.
constexpr s32 ends(const Spec& s) {
  return 2 + groups(s) * (s.shortcut == Shortcut::projection ? 2 : 1);
}

// First tiles of weights and of biases, and how many there are.
struct Tiles {
  s32 spatial, expand, project, bias, all;
};
constexpr Tiles tiles(const Spec& s) {
  Tiles t{};
  t.spatial = s.chunks;
  t.expand = t.spatial + kTaps * kTaps;
  t.project = t.expand + groups(s);
  t.bias = t.project + (s.shortcut == Shortcut::projection ? groups(s) * s.chunks : 0);
  t.all = t.bias + (s.bias_added ? 0 : ceil_div_s32(ends(s), 2));
  return t;
}

// Bytes of shared memory, and where things lie in it.
struct Memory {
  s64 chunk;  // of 64 channels of a row of x
  s64 x_row;
  s64 slot;  // a reduced row with a pixel of border on both sides
  s64 ring;
  s64 x, rings, scales, biases, barriers, all;
};
constexpr s64 larger(s64 a, s64 b) { return a > b ? a : b; }
constexpr Memory memory(const Spec& s) {
  constexpr s32 kSwizzle = 512, kAlignment = 1024, kWord = 4, kBarrier = 8;
  Memory m{};
  m.chunk = ceil_div_s32(s.width * kChannels, kSwizzle) * kSwizzle;
  m.x_row = s.chunks * m.chunk;
  m.slot = (s.width + kTaps - 1) * kChannels;
  m.ring = (kTaps * m.slot + kSwizzle - 1) / kSwizzle * kSwizzle;
  m.x = s64{tiles(s).all} * kTileBytes;
  m.rings = m.x + s.warpgroups * s.stages * m.x_row;
  m.scales = m.rings + s.warpgroups * m.ring;
  m.biases = m.scales + ends(s) * kChannels * kWord;
  m.barriers = m.biases + (s.bias_added ? ends(s) * kChannels * kWord : 0);
  m.all = m.barriers + kBarrier * (1 + s.warpgroups * (s.stages + 1));
  // Products read 64 rows from any tap of the last slot and from the last chunk of x, however few pixels there are.
  const s64 last_slot = m.scales - m.ring + (kTaps - 1) * m.slot;
  m.all = larger(m.all, last_slot + (kChannels + kTaps - 1) * kChannels);
  m.all = larger(m.all, m.rings - m.chunk + kTileBytes) + kAlignment;
  return m;
}

// The channel that row `row` of a tile is: a thread owns sixteen neighbours.
constexpr s32 channel_of_row(s32 row) { return 16 * (row % 8 / 2) + 2 * (row / 8) + row % 2; }
// The channel that byte `k` of a row is where the first operand comes from registers (expand, project).
constexpr s32 channel_of_byte(s32 k) {
  return 16 * (k / 4 % 4) + 8 * (k / 32) + 4 * (k / 16 % 2) + k % 4;
}
// Where the scale or the bias of a channel of 64 lies: a thread reads four at a time.
constexpr s32 place_of_end(s32 channel) {
  return 16 * (channel / 4 % 4) + 4 * (channel / 16) + channel % 4;
}

// Biases are one more product by a row of 1, 255, 255, ...: their digits to base 255.
constexpr s32 kDigits = 32, kBase = 255;

// `scales` and `biases`: of all channels of ends(), place_of_end(); biases null where products add them.
struct Params {
  TensorMap x, weights;
  const f32* scales;
  const s32* biases;
  u8* out;
};

}  // namespace octet::cuda::bottleneck
