// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution of codes with the 1x1 convolutions around it: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/epilogue.h"

namespace octet::cuda::separable {

#define SEPARABLE_SIZES_FIELDS(FIELD)                                                          \
  FIELD(bool, expand)    /* a 1x1 convolution makes what the window reads */                   \
  FIELD(bool, project)   /* another one reads what it makes */                                 \
  FIELD(s32, x_channels) /* of what is read: the window's without expand */                    \
  FIELD(s32, images)                                                                           \
  FIELD(s32, in_h)                                                                             \
  FIELD(s32, in_w)                                                                             \
  FIELD(s32, channels) /* of the window */                                                     \
  FIELD(s32, taps_h)                                                                           \
  FIELD(s32, taps_w)                                                                           \
  FIELD(s32, stride_h)                                                                         \
  FIELD(s32, stride_w)                                                                         \
  FIELD(s32, pad_top)                                                                          \
  FIELD(s32, pad_left)                                                                         \
  FIELD(s32, out_h)                                                                            \
  FIELD(s32, out_w)                                                                            \
  FIELD(s32, y_channels)  /* of the last convolution */                                        \
  FIELD(s32, pool)        /* 2: behind the window a maximum of 2x2 pixels; 1: there is none */ \
  FIELD(s32, table_bytes) /* of each convolution */
OCTET_SPEC(Sizes, SEPARABLE_SIZES_FIELDS)

// A block has `height` rows of `width` pixels of one image and all channels, `slice` of them at a time.
#define SEPARABLE_TILE_FIELDS(FIELD)                                         \
  FIELD(s32, height)                                                         \
  FIELD(s32, width)                                                          \
  FIELD(s32, rows) /* of a thread */                                         \
  FIELD(s32, slice)                                                          \
  FIELD(s32, warps_m) /* of a block, along pixels and along channels of y */ \
  FIELD(s32, warps_n)                                                        \
  FIELD(s32, tiles_m) /* of 16 pixels by 8 channels, of a warp */            \
  FIELD(s32, tiles_n)                                                        \
  FIELD(s32, blocks) /* that share a multiprocessor */
OCTET_SPEC(Tile, SEPARABLE_TILE_FIELDS)

#define SEPARABLE_FIELDS(FIELD)                                                       \
  FIELD(Sizes, sizes)                                                                 \
  FIELD(Tile, tile)                                                                   \
  FIELD(bool, x_signed)      /* codes are s8 */                                       \
  FIELD(bool, window_signed) /* of the window's input */                              \
  FIELD(bool, result_signed) /* of its results */                                     \
  FIELD(s32, zero_point)     /* of the window's input */                              \
  FIELD(PixelStrides, x)                                                              \
  FIELD(PixelStrides, y)                                                              \
  FIELD(PixelStrides, residual)                                                       \
  FIELD(PixelStrides, addend)                                                         \
  FIELD(s32, x_access) /* bytes of one load of x */                                   \
  FIELD(s32, y_access) /* channels that are stored at once */                         \
  FIELD(EpilogueSpec, expand_end)                                                     \
  FIELD(EpilogueSpec, window_end)                                                     \
  FIELD(EpilogueSpec, project_end)                                                    \
  FIELD(bool, short_expand) /* all sums with their biases are shorter than 23 bits */ \
  FIELD(bool, short_window)                                                           \
  FIELD(bool, short_project)
OCTET_SPEC(Spec, SEPARABLE_FIELDS)

#define SEPARABLE_RULES(RULE)                                                                   \
  RULE(s.tile.width % 4 == 0, "four neighbouring pixels of a channel are a word")               \
  RULE(s.tile.height % s.tile.rows == 0, "a thread has whole strips of rows")                   \
  RULE(s.tile.height % s.sizes.pool == 0, "a pool would reach into the next tile")              \
  RULE(s.tile.slice % 16 == 0, "a warp expands 16 channels at once")                            \
  RULE(s.tile.tiles_n % 2 == 0, "ldmatrix brings weights of two tiles at once")                 \
  RULE(s.x_access == 4 || s.x_access == 8 || s.x_access == 16, "loads are asynchronous copies") \
  RULE(s.sizes.x_channels % s.x_access == 0, "a load would reach into the next pixel")          \
  RULE(!s.sizes.project || 2 * s.tile.tiles_n % s.y_access == 0,                                \
       "a thread owns 2 * tiles_n channels")                                                    \
  RULE(s.sizes.out_h <= 0x7fff, "the row of no pixel is another's")
OCTET_RULES(Spec, SEPARABLE_RULES)

constexpr s32 kQuad = 4;    // neighbouring pixels, a word in front of the window
constexpr s32 kGroup = 16;  // channels that a warp expands at once
constexpr s32 kStep = 32;   // bytes of k of a product
constexpr s32 kPad = 16;    // bytes behind a row, so that eight rows meet no bank twice

constexpr s32 threads(const Tile& t) { return 32 * t.warps_m * t.warps_n; }
constexpr s32 pixels(const Tile& t) { return t.height * t.width; }
constexpr s32 quads(const Tile& t) { return t.width / kQuad; }
constexpr s32 places(const Tile& t) {
  return quads(t) * (t.height / t.rows);
}  // of a thread's pixels
constexpr s32 outputs(const Tile& t) {
  return 8 * t.tiles_n * t.warps_n;
}  // channels of y, filled up
// Of kGroup channels each that a warp expands at once.
constexpr s32 groups(const Tile& t) { return t.slice % (2 * kGroup) == 0 ? 2 : 1; }
constexpr s32 column_tiles(const Sizes& s, const Tile& t) { return ceil_div_s32(s.out_w, t.width); }
constexpr s32 row_tiles(const Sizes& s, const Tile& t) { return ceil_div_s32(s.out_h, t.height); }
constexpr s64 tiles(const Sizes& s, const Tile& t) {
  return s64{s.images} * row_tiles(s, t) * column_tiles(s, t);
}
// Of four taps in a row of the window.
constexpr s32 tap_words(const Sizes& s) { return ceil_div_s32(s.taps_w, kQuad); }

// What shared memory holds: sizes, and where things lie in it, in bytes.
struct Memory {
  s64 in_rows, row_quads, in_quads,
      in_units;  // of a tile's input: rows, words of a row, words of a channel, eights of those
  s64 span;      // words that four pixels of y read in a row
  s64 plane;     // words of a channel: planes of channels 4, 8 and 12 apart meet no bank twice
  s64 slices, channels;  // channels are filled up to whole slices
  s64 k_bytes, k_pitch, x_pitch, a_bytes, a_pitch, p_pitch;  // of rows
  s64 taps;  // words of a channel: rows of words of four taps, then the bias
  s64 expand_ends, taps_at, scales, project, project_ends, tables;
  s64 kept;  // bytes of all that
  s64 x, inside, planes, a, all;
};
constexpr s64 filled_up(s64 value, s64 to) { return (value + to - 1) / to * to; }
constexpr s64 larger(s64 a, s64 b) { return a > b ? a : b; }
constexpr Memory memory(const Sizes& s, const Tile& t) {
  Memory m{};
  m.in_rows = s64{t.height - 1} * s.stride_h + s.taps_h;
  m.span = (3 * s.stride_w + 4 * tap_words(s) - 1) / kQuad + 1;
  m.row_quads = s64{quads(t) - 1} * s.stride_w + m.span;
  m.in_quads = m.in_rows * m.row_quads;
  m.in_units = (m.in_quads + 7) / 8;
  m.plane = (m.in_quads + 5) / 8 * 8 + 2;
  m.slices = ceil_div_s32(s.channels, t.slice);
  m.channels = m.slices * t.slice;
  m.k_bytes = filled_up(s.x_channels, kStep);
  m.k_pitch = m.k_bytes + kPad;
  m.x_pitch = s.expand ? m.k_pitch : t.slice % kStep == 0 ? t.slice + kPad : t.slice;
  m.a_bytes = filled_up(t.slice, kStep);
  m.a_pitch = m.a_bytes + kPad;
  m.p_pitch = m.slices * m.a_bytes + kPad;
  m.taps = filled_up(s64{s.taps_h} * tap_words(s) + 1, kQuad);
  const s64 expanded = s.expand ? m.channels : 0, projected = s.project ? outputs(t) : 0;
  m.expand_ends = expanded * m.k_pitch;
  m.taps_at = m.expand_ends + expanded * 8;
  m.scales = m.taps_at + m.channels * m.taps * 4;
  m.project = m.scales + m.channels * 4;
  m.project_ends = m.project + projected * m.p_pitch;
  m.tables = m.project_ends + projected * 8;
  m.kept = m.tables + s64{3} * s.table_bytes;
  m.x = m.kept;
  m.inside = m.x + kQuad * 8 * m.in_units * m.x_pitch;
  m.planes = m.inside + (s.expand ? 4 * m.in_quads : 0);
  m.a = filled_up(m.planes + t.slice * m.plane * 4, 16);
  m.all = m.a + larger(pixels(t), s64{16} * t.tiles_m * t.warps_m) * m.a_pitch;
  return m;
}

// Weights of expand are rows of k_pitch bytes, [channels] of them; this is the channel of one: a lane's sums are four neighbouring channels.
constexpr s64 channel_of_expand_row(s64 row) {
  const s64 in_group = row % kGroup;
  return row - in_group + in_group % 8 / 2 * 4 + in_group / 8 * 2 + in_group % 2;
}
// Where the bias of a channel lies behind Memory::expand_ends; the multiplier 16 bytes further: {4 biases, 4 multipliers} of four channels.
constexpr s64 place_of_expand_end(s64 channel) {
  return channel / kQuad * 32 + channel % kQuad * 4;
}
// Of project, rows of p_pitch bytes, [outputs]: a thread's sums are 2 * tiles_n neighbouring channels.
constexpr s64 channel_of_project_row(s64 row, s64 tiles_n) {
  const s64 p = row % (8 * tiles_n);
  return row - p + 2 * tiles_n * (p % 8 / 2) + 2 * (p / 8) + p % 2;
}

struct Params {
  const u8* x;
  const u8* kept;      // constants, as they lie in shared memory
  EpilogueParams end;  // of the last product: what is added, and where it goes
};

}  // namespace octet::cuda::separable
