// SPDX-License-Identifier: Apache-2.0
// A product of a window of pixels by weights on warpgroups of a Hopper, of codes or of numbers of 16 bits: what both halves know of its tiles. k is counted in bytes,
// so that a product of 32 of them is the same for either.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/tensor_map.h"

namespace octet::cuda {

// How x comes to shared memory.
enum class XMode : s32 {
  rows,    // pixels one after another (1x1)
  im2col,  // windows, a tap at a time
  halo     // rows of an image with their halo, in which a tap is a shift by rows (stride 1)
};

#define WINDOW_TILE_FIELDS(FIELD)                                                                                                 \
  FIELD(XMode, mode)                                                                                                              \
  FIELD(s32, bm_wg)   /* rows of a warpgroup: 64 or 128 */                                                                        \
  FIELD(s32, bn)      /* columns: 32, 64, 128, 192 or 256 */                                                                      \
  FIELD(s32, group)   /* columns of which a thread's sums are neighbouring ones */                                                \
  FIELD(s32, k_bytes) /* of k in a row of shared memory: 32, 64 or 128 */                                                         \
  FIELD(s32, sub)     /* such pieces of k in a stage */                                                                           \
  FIELD(s32, stages)                                                                                                              \
  FIELD(s32, warpgroups) /* that multiply; one more warp loads */                                                                 \
  FIELD(bool, pingpong)  /* each has a tile of its own; else all share one */                                                     \
  FIELD(bool, resident)  /* weights of a column of tiles stay in shared memory */                                                 \
  FIELD(s32, blocks)     /* that share a multiprocessor */                                                                        \
  FIELD(s32, halo_rows)  /* of y in a tile of XMode::halo, else 0 */                                                              \
  FIELD(s32, halo_width) /* pixels of a row of x with its halo */                                                                 \
  FIELD(                                                                                                                          \
      s32,                                                                                                                        \
      residuals) /* tiles whose residual has a place in shared memory, which the loading warp fills; 0: threads load their own */ \
  FIELD(bool, rolled) /* the end of a tile is a loop: a block has so few tiles that fetching \
                            its instructions takes longer than moving sums */
OCTET_SPEC(WindowTile, WINDOW_TILE_FIELDS)

#define TILED_WINDOW_FIELDS(FIELD)                                                                 \
  FIELD(ConvWindow, window)                                                                        \
  FIELD(s32, number_bytes) /* of one of x: 1, 2 or 4 */                                            \
  FIELD(s32, w_terms)      /* numbers of 16 bits that a weight is; 0: it is a number as x's are */ \
  FIELD(                                                                                           \
      s32,                                                                                         \
      residual_bytes) /* of a number that the accelerator could bring for the end; 0: it cannot */ \
  FIELD(WindowTile, tile)
OCTET_SPEC(TiledWindow, TILED_WINDOW_FIELDS)

// Pieces of k: elements of the window times chunks of channels.
constexpr s32 taps(const TiledWindow& s) { return s.window.taps_h * s.window.taps_w; }
constexpr s32 chunks(const TiledWindow& s) {
  return ceil_div_s32(s.window.cin * s.number_bytes, s.tile.k_bytes);
}
constexpr s32 pieces(const TiledWindow& s) { return taps(s) * chunks(s); }
constexpr s32 numbers_of_piece(const TiledWindow& s) { return s.tile.k_bytes / s.number_bytes; }
constexpr s32 bm(const WindowTile& t) { return t.pingpong ? t.bm_wg : t.bm_wg * t.warpgroups; }
constexpr s32 threads(const TiledWindow& s) { return 128 * s.tile.warpgroups + 32; }
constexpr s32 n_tiles(const TiledWindow& s) { return ceil_div_s32(s.window.cout, s.tile.bn); }
constexpr s32 padded_channels(const TiledWindow& s) { return n_tiles(s) * s.tile.bn; }
// Of one image in XMode::halo.
constexpr s32 tiles_of_image(const TiledWindow& s) {
  return ceil_div_s32(s.window.out_h, s.tile.halo_rows);
}
constexpr s64 m_tiles(const TiledWindow& s) {
  if (s.tile.mode != XMode::halo) return (s64{s.window.pixels} + bm(s.tile) - 1) / bm(s.tile);
  return s64{s.window.pixels / (s.window.out_h * s.window.out_w)} * tiles_of_image(s);
}
constexpr s64 tiles(const TiledWindow& s) { return m_tiles(s) * n_tiles(s); }

// Bytes of shared memory: of a piece of x, or in XMode::halo of a tile's.
constexpr s32 kSwizzleAlignment = 1024;
constexpr s32 x_block(const TiledWindow& s) {
  const WindowTile& t = s.tile;
  if (t.mode != XMode::halo) return bm(t) * t.k_bytes;
  const s32 rows = bm(t) + (s.window.taps_h - 1) * t.halo_width + s.window.taps_w - 1;
  return ceil_div_s32(rows * t.k_bytes, kSwizzleAlignment) * kSwizzleAlignment;
}
// Of weights a piece has for each term rows of all columns, one term behind another.
constexpr s32 boxes_of_weights(const TiledWindow& s) { return s.w_terms == 0 ? 1 : s.w_terms; }
constexpr s32 weights_row(const TiledWindow& s) {
  return s.w_terms == 0 ? s.tile.k_bytes : 2 * numbers_of_piece(s);
}
constexpr s32 weights_block(const TiledWindow& s) {
  return boxes_of_weights(s) * s.tile.bn * weights_row(s);
}
// A tile's residual lies as boxes of a group of columns by all rows, whose rows are swizzled within so many bytes.
constexpr s32 residual_row(const TiledWindow& s) { return s.tile.group * s.residual_bytes; }
constexpr s32 residual_box(const TiledWindow& s) { return bm(s.tile) * residual_row(s); }
constexpr s32 residual_block(const TiledWindow& s) {
  return s.tile.bn / s.tile.group * residual_box(s);
}
// Where byte `byte` of row `row` of a box lies.
constexpr s32 swizzled(s32 row, s32 byte, s32 row_bytes) {
  const s32 at = row * row_bytes + byte;
  return at ^ (at >> 7 & (row_bytes / 16 - 1)) << 4;
}

// Where things lie in it; `end`: constants of channels, of words_of_channel words for each, then `table_bytes` of a table.
struct TiledMemory {
  s64 weights, residuals, end, table, barriers, all;
  s64 end_bytes;  // of one word of all channels
};
constexpr TiledMemory tiled_memory(const TiledWindow& s, s32 words_of_channel, s32 table_bytes) {
  constexpr s32 kBarrierBytes = 8;
  TiledMemory m{};
  m.weights = s64{s.tile.stages} * s.tile.sub * x_block(s);
  const s64 kept = s.tile.resident ? pieces(s) : s.tile.stages * s.tile.sub;
  m.residuals = m.weights + kept * weights_block(s);
  m.end = m.residuals + s64{s.tile.residuals} * residual_block(s);
  m.end_bytes = s64{padded_channels(s)} * 4;
  m.table = m.end + words_of_channel * m.end_bytes;
  m.barriers = m.table + table_bytes;
  m.all = m.barriers + kBarrierBytes * (2 * s.tile.stages + 2 * s.tile.residuals + 1) +
          kSwizzleAlignment;
  return m;
}

// Neighbouring channels of a thread in each group of columns.
constexpr s32 own_channels(const WindowTile& t) { return t.group / 4; }
// Row p of the weights of a group is this channel of it: so a thread's sums are neighbouring channels.
constexpr s32 channel_of_row(s32 p, const WindowTile& t) {
  return own_channels(t) * (p % 8 / 2) + 2 * (p / 8) + p % 2;
}

#define TILED_WINDOW_RULES(RULE, s)                                                                \
  RULE((s).window.groups == 1, "a tile has all channels of x")                                     \
  RULE((s).number_bytes == 1 || (s).number_bytes == 2 || (s).w_terms > 0,                          \
       "a product is of 32 codes or 16 floats")                                                    \
  RULE(weights_row(s) == 32 || weights_row(s) == 64 || weights_row(s) == 128,                      \
       "rows are swizzled within 32, 64 or 128 bytes")                                             \
  RULE((s).tile.bm_wg == 64 || (s).tile.bm_wg == 128,                                              \
       "a product has 64 rows, a warpgroup one or two")                                            \
  RULE((s).tile.bn == 32 || (s).tile.bn % 64 == 0, "there are products of 32, 64, .. columns")     \
  RULE((s).tile.group >= 16 && (s).tile.bn % (s).tile.group == 0, "a thread owns 4 or more of it") \
  RULE((s).tile.k_bytes == 32 || (s).tile.k_bytes == 64 || (s).tile.k_bytes == 128,                \
       "rows are swizzled within 32, 64 or 128 bytes")                                             \
  RULE((s).tile.stages >= 2, "one stage is loaded while another is multiplied")                    \
  RULE(!(s).tile.pingpong || (s).tile.warpgroups == 2, "two warpgroups take turns")                \
  RULE((s).tile.mode != XMode::halo ||                                                             \
           ((s).tile.resident && (s).tile.sub == 1 && (s).tile.halo_rows > 0),                     \
       "a tile with its halo is multiplied by weights that are there")                             \
  RULE((s).tile.residuals == 0 || (s).tile.mode != XMode::halo,                                    \
       "rows of a tile are pixels in order")                                                       \
  RULE((s).tile.residuals == 0 || residual_row(s) == 32 || residual_row(s) == 64 ||                \
           residual_row(s) == 128,                                                                 \
       "rows are swizzled within 32, 64 or 128 bytes")                                             \
  RULE((s).tile.residuals == 0 || (s).tile.residuals > ((s).tile.pingpong ? 1 : 0),                \
       "each of two warpgroups that take turns has a place")                                       \
  RULE(tiles(s) <= 0x7fffffff, "a tile's index is s32")

}  // namespace octet::cuda
