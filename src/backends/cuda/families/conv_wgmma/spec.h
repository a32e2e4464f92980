// SPDX-License-Identifier: Apache-2.0
// Convolution of codes by warpgroups of a Hopper: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/epilogue.h"
#include "backends/cuda/device/tensor_map.h"

namespace octet::cuda::conv_wgmma {

// How x comes to shared memory.
enum class XMode : s32 {
  rows,    // pixels one after another (1x1)
  im2col,  // windows, a tap at a time
  halo     // rows of an image with their halo, in which a tap is a shift by rows (stride 1)
};

#define CONV_WGMMA_TILE_FIELDS(FIELD)                                             \
  FIELD(XMode, mode)                                                              \
  FIELD(s32, bm_wg)   /* rows of a warpgroup: 64 or 128 */                        \
  FIELD(s32, bn)      /* columns: 32, 64, 128, 192 or 256 */                      \
  FIELD(s32, k_bytes) /* of k in a row of shared memory: 32, 64 or 128 */         \
  FIELD(s32, sub)     /* such pieces of k in a stage */                           \
  FIELD(s32, stages)                                                              \
  FIELD(s32, warpgroups) /* that multiply; one more warp loads */                 \
  FIELD(bool, pingpong)  /* each has a tile of its own; else all share one */     \
  FIELD(bool, resident)  /* weights of a column of tiles stay in shared memory */ \
  FIELD(s32, blocks)     /* that share a multiprocessor */                        \
  FIELD(s32, halo_rows)  /* of y in a tile of XMode::halo, else 0 */              \
  FIELD(s32, halo_width) /* pixels of a row of x with its halo */
OCTET_SPEC(Tile, CONV_WGMMA_TILE_FIELDS)

// Padding holds the zero point of x, and the accelerator brings zeros: what that makes of the sums is a constant of a pixel's class.
#define CONV_WGMMA_EDGES_FIELDS(FIELD)                                         \
  FIELD(bool, exist)                                                           \
  FIELD(s32, top) /* rows and columns of y whose windows reach into padding */ \
  FIELD(s32, bottom)                                                           \
  FIELD(s32, left)                                                             \
  FIELD(s32, right)
OCTET_SPEC(Edges, CONV_WGMMA_EDGES_FIELDS)

// y is one matrix or several, equally wide and each of whole tiles, one behind another; each has a zero point of its own.
#define CONV_WGMMA_PARTS_FIELDS(FIELD) \
  FIELD(s32, count)                    \
  FIELD(s64, bytes) /* of one */       \
  FIELD(s32, zero_point0)              \
  FIELD(s32, zero_point1)              \
  FIELD(s32, zero_point2)
OCTET_SPEC(Parts, CONV_WGMMA_PARTS_FIELDS)

#define CONV_WGMMA_FIELDS(FIELD)                              \
  FIELD(ConvWindow, window)                                   \
  FIELD(ConvOperands, at)                                     \
  FIELD(EpilogueSpec, end)                                    \
  FIELD(Tile, tile)                                           \
  FIELD(Edges, edges)                                         \
  FIELD(Parts, parts)                                         \
  FIELD(s32, y_access) /* channels that are stored at once */ \
  FIELD(bool, rolled)  /* the end of a tile is a loop: a block has so few tiles that fetching  \
                          its instructions takes longer than moving sums */
OCTET_SPEC(Spec, CONV_WGMMA_FIELDS)

constexpr s32 kMostParts = 3;

// Bytes of k: kernel_elements() of the window times chunks of channels.
constexpr s32 taps(const Spec& s) { return s.window.taps_h * s.window.taps_w; }
constexpr s32 chunks(const Spec& s) { return ceil_div_s32(s.window.cin, s.tile.k_bytes); }
constexpr s32 pieces(const Spec& s) { return taps(s) * chunks(s); }
constexpr s32 bm(const Tile& t) { return t.pingpong ? t.bm_wg : t.bm_wg * t.warpgroups; }
constexpr s32 threads(const Spec& s) { return 128 * s.tile.warpgroups + 32; }
constexpr s32 n_tiles(const Spec& s) { return ceil_div_s32(s.window.cout, s.tile.bn); }
constexpr s32 padded_channels(const Spec& s) { return n_tiles(s) * s.tile.bn; }
// Of one image in XMode::halo.
constexpr s32 tiles_of_image(const Spec& s) {
  return ceil_div_s32(s.window.out_h, s.tile.halo_rows);
}
constexpr s64 m_tiles(const Spec& s) {
  if (s.tile.mode != XMode::halo) return (s64{s.window.pixels} + bm(s.tile) - 1) / bm(s.tile);
  return s64{s.window.pixels / (s.window.out_h * s.window.out_w)} * tiles_of_image(s);
}
constexpr s64 tiles(const Spec& s) { return m_tiles(s) * n_tiles(s); }

// Bytes of shared memory: of a piece of x, or in XMode::halo of a tile's.
constexpr s32 kSwizzleAlignment = 1024;
constexpr s32 x_block(const Spec& s) {
  const Tile& t = s.tile;
  if (t.mode != XMode::halo) return bm(t) * t.k_bytes;
  const s32 rows = bm(t) + (s.window.taps_h - 1) * t.halo_width + s.window.taps_w - 1;
  return ceil_div_s32(rows * t.k_bytes, kSwizzleAlignment) * kSwizzleAlignment;
}
constexpr s32 weights_block(const Spec& s) { return s.tile.bn * s.tile.k_bytes; }

// Where things lie in it.
struct Memory {
  s64 weights, end, table, barriers, all;
  s64 end_bytes;  // of the biases, and of the multipliers
};
constexpr Memory memory(const Spec& s) {
  constexpr s32 kBarrierBytes = 8;
  Memory m{};
  m.weights = s64{s.tile.stages} * s.tile.sub * x_block(s);
  const s64 kept = s.tile.resident ? pieces(s) : s.tile.stages * s.tile.sub;
  m.end = m.weights + kept * weights_block(s);
  m.end_bytes = s64{padded_channels(s)} * 4;
  m.table = m.end + 2 * m.end_bytes;
  m.barriers = m.table + table_bytes(s.end);
  m.all = m.barriers + kBarrierBytes * (2 * s.tile.stages + 1) + kSwizzleAlignment;
  return m;
}

// Neighbouring channels of a thread in each group of columns.
constexpr s32 columns_of_group(const Tile& t) { return t.bn < 64 ? t.bn : 64; }
constexpr s32 own_channels(const Tile& t) { return columns_of_group(t) / 4; }
// Row p of the weights of a group is this channel of it: so a thread's sums are neighbouring channels.
constexpr s32 channel_of_row(s32 p, const Tile& t) {
  return own_channels(t) * (p % 8 / 2) + 2 * (p / 8) + p % 2;
}

#define CONV_WGMMA_RULES(RULE)                                                                     \
  RULE(s.window.groups == 1, "a tile has all channels of x")                                       \
  RULE(s.tile.bm_wg == 64 || s.tile.bm_wg == 128, "a product has 64 rows, a warpgroup one or two") \
  RULE(s.tile.bn == 32 || s.tile.bn % 64 == 0, "a thread owns 8 or 16 channels of a group")        \
  RULE(s.tile.k_bytes == 32 || s.tile.k_bytes == 64 || s.tile.k_bytes == 128,                      \
       "rows are swizzled within 32, 64 or 128 bytes")                                             \
  RULE(s.tile.stages >= 2, "one stage is loaded while another is multiplied")                      \
  RULE(!s.tile.pingpong || s.tile.warpgroups == 2, "two warpgroups take turns")                    \
  RULE(s.tile.mode != XMode::halo || (s.tile.resident && s.tile.sub == 1 && s.tile.halo_rows > 0), \
       "a tile with its halo is multiplied by weights that are there")                             \
  RULE(s.end.table_lanes || !s.end.table, "the table has a copy for each lane")                    \
  RULE(s.parts.count == 1 || (s.parts.count <= kMostParts && s.window.cout % s.parts.count == 0 && \
                              s.window.cout / s.parts.count % s.tile.bn == 0),                     \
       "a part is of whole tiles")                                                                 \
  RULE(own_channels(s.tile) % s.y_access == 0, "a thread stores its own channels")                 \
  RULE(tiles(s) <= 0x7fffffff, "a tile's index is s32")
OCTET_RULES(Spec, CONV_WGMMA_RULES)

struct Params {
  TensorMap x;
  TensorMap
      weights;  // padded_channels rows of pieces * k_bytes bytes: for each tap the channels, filled up with zeros; channel_of_row()
  const s32*
      border;  // for each class of pixels at an edge, what padding adds to a channel; null: nothing
  EpilogueParams end;
};

}  // namespace octet::cuda::conv_wgmma
