// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of codes by tiles in shared memory: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/epilogue.h"

namespace octet::cuda::depthwise_tile {

// A block has 32 neighbouring channels of a tile of outputs, a lane of each warp one channel, a warp `rows` rows of `columns` outputs. Outputs of a tile are
// those that share pixels: apart_h rows and apart_w columns from each other, which are move_h and move_w taps. So a window with a dilation is one without it
// over every dilation_w-th pixel: apart is the dilation, and move the stride, both over their common divisor.
#define DEPTHWISE_TILE_FIELDS(FIELD)                          \
  FIELD(ConvWindow, window)                                   \
  FIELD(ConvOperands, at)                                     \
  FIELD(EpilogueSpec, end)                                    \
  FIELD(s32, images)                                          \
  FIELD(s32, channels) /* of all groups */                    \
  FIELD(s32, x_access) /* bytes of one load of x */           \
  FIELD(s32, y_access) /* channels that are stored at once */ \
  FIELD(s32, rows)                                            \
  FIELD(s32, columns)                                         \
  FIELD(s32, warps)                                           \
  FIELD(s32, apart_h)                                         \
  FIELD(s32, apart_w)                                         \
  FIELD(s32, move_h)                                          \
  FIELD(s32, move_w)
OCTET_SPEC(Spec, DEPTHWISE_TILE_FIELDS)

constexpr s32 kLanes = 32;
constexpr s32 kWord = 4;  // pixels of a channel, and taps, in a word

// Words of a row of taps, which registers hold.
constexpr s32 tap_words(const Spec& s) { return ceil_div_s32(s.window.taps_w, kWord); }
constexpr s32 kMostTapWords = 28;

#define DEPTHWISE_TILE_RULES(RULE)                                                       \
  RULE(s.window.cin == 1 && s.window.cout == 1, "a group is one channel")                \
  RULE(s.x_access == 1 || s.x_access == 2 || s.x_access == 4, "a thread loads a word")   \
  RULE(s.y_access == 1 || s.y_access == 4, "a thread stores a channel or a word")        \
  RULE(s.channels % s.x_access == 0, "a load would reach into the next pixel")           \
  RULE(s.channels % s.y_access == 0, "a store would reach into the next pixel")          \
  RULE(s.window.taps_h* tap_words(s) <= kMostTapWords, "registers do not hold the taps") \
  RULE(s.apart_h >= 1 && s.apart_w >= 1, "outputs of a tile are different ones")
OCTET_RULES(Spec, DEPTHWISE_TILE_RULES)

constexpr s32 threads(const Spec& s) { return kLanes * s.warps; }

// Of a tile: columns of pixels, words of four of them, rows of pixels; of a warp: rows of pixels.
constexpr s32 pixels(const Spec& s) { return (s.columns - 1) * s.move_w + s.window.taps_w; }
constexpr s32 words(const Spec& s) { return ceil_div_s32(pixels(s), kWord); }
constexpr s32 own_rows(const Spec& s) { return (s.rows - 1) * s.move_h + s.window.taps_h; }
constexpr s32 in_rows(const Spec& s) { return (s.warps * s.rows - 1) * s.move_h + s.window.taps_h; }
// Words from one channel to the next: odd, so that lanes meet different banks.
constexpr s32 plane(const Spec& s) { return in_rows(s) * words(s) | 1; }
constexpr s64 shared_bytes(const Spec& s) {
  return s64{kLanes} * plane(s) * 4 + (s.end.fine ? kFineBytes : 0);
}

constexpr s32 tiles_along(s32 out, s32 apart, s32 size) {
  return ceil_div_s32(ceil_div_s32(out, apart), size) * apart;
}
constexpr s32 tile_columns(const Spec& s) {
  return tiles_along(s.window.out_w, s.apart_w, s.columns);
}
constexpr s32 tile_rows(const Spec& s) {
  return tiles_along(s.window.out_h, s.apart_h, s.rows * s.warps);
}
constexpr s32 slices(const Spec& s) { return ceil_div_s32(s.channels, kLanes); }
constexpr s64 blocks(const Spec& s) {
  return s64{s.images} * tile_rows(s) * tile_columns(s) * slices(s);
}

struct Params {
  const u8* x;
  const u32* weights;  // tap_word() of each channel, slices() * 32 of them
  EpilogueParams end;
};

// Taps 4g to 4g + 3 of row r; what is beyond the row is 0.
constexpr s32 tap_word(const Spec& s, s32 r, s32 g) { return r * tap_words(s) + g; }

}  // namespace octet::cuda::depthwise_tile
