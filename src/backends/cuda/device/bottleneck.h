// SPDX-License-Identifier: Apache-2.0
// A ResNet bottleneck of codes as one kernel: what both families of it, by wgmma and by mma.sync, have of its sizes, ends and the order of channels.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/epilogue.h"

namespace octet::cuda::bottleneck {

// What is added to y.
enum class Shortcut : s32 { none, identity, projection };

#define BOTTLENECK_BLOCK_FIELDS(FIELD)                        \
  FIELD(s32, width)  /* pixels of a row: at most 64 */        \
  FIELD(s32, height) /* rows of an image */                   \
  FIELD(s32, rows)   /* of all images */                      \
  FIELD(s32, chunks) /* of 64 channels of x */                \
  FIELD(s32, cout)                                            \
  FIELD(Shortcut, shortcut)                                   \
  FIELD(bool, x_signed)                                       \
  FIELD(bool, reduced_signed)                                 \
  FIELD(bool, spatial_signed)                                 \
  FIELD(s32, border) /* zero point of the reduced row */      \
  FIELD(PixelStrides, y)                                      \
  FIELD(s32, y_access) /* channels that are stored at once */ \
  FIELD(EpilogueSpec, reduce)                                 \
  FIELD(EpilogueSpec, spatial)                                \
  FIELD(EpilogueSpec, expand)                                 \
  FIELD(EpilogueSpec, project)

#define BOTTLENECK_BLOCK_RULES(RULE)                                               \
  RULE(s.width <= 64, "a row of pixels is 64 rows of a product")                   \
  RULE(!s.reduce.table && !s.spatial.table && !s.expand.table && !s.project.table, \
       "no table is in shared memory")                                             \
  RULE(16 % s.y_access == 0, "a thread stores 16 channels")

constexpr s32 kChannels = 64;  // of a tile, and rows and bytes of one
constexpr s32 kTileBytes = kChannels * kChannels;
constexpr s32 kTaps = 3;  // of the window, in a row and in a column

// Of 64 channels of y.
template <class Spec>
constexpr s32 groups(const Spec& s) {
  return ceil_div_s32(s.cout, kChannels);
}
// Groups of 64 channels that end somewhere: reduced, spatial, expanded, projected.
template <class Spec>
constexpr s32 ends(const Spec& s) {
  return 2 + groups(s) * (s.shortcut == Shortcut::projection ? 2 : 1);
}

// First tiles of weights, and how many there are; reduced ones are the first.
struct WeightTiles {
  s32 spatial, expand, project, all;
};
template <class Spec>
constexpr WeightTiles weight_tiles(const Spec& s) {
  WeightTiles t{};
  t.spatial = s.chunks;
  t.expand = t.spatial + kTaps * kTaps;
  t.project = t.expand + groups(s);
  t.all = t.project + (s.shortcut == Shortcut::projection ? groups(s) * s.chunks : 0);
  return t;
}

// The channel that row `row` of a tile is: a thread owns sixteen neighbours.
constexpr s32 channel_of_row(s32 row) { return 16 * (row % 8 / 2) + 2 * (row / 8) + row % 2; }
// The channel that byte `k` of a row is where the first operand comes from registers as a thread owns channels.
constexpr s32 channel_of_byte(s32 k) {
  return 16 * (k / 4 % 4) + 8 * (k / 32) + 4 * (k / 16 % 2) + k % 4;
}
// Where the scale or the bias of a channel of 64 lies: a thread reads four at a time.
constexpr s32 place_of_end(s32 channel) {
  return 16 * (channel / 4 % 4) + 4 * (channel / 16) + channel % 4;
}

}  // namespace octet::cuda::bottleneck
