// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of codes: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/epilogue.h"

namespace octet::cuda::depthwise {

// A thread has four neighbouring channels of a strip: `columns` outputs in each of `rows` rows. Outputs of a strip are those that share pixels: apart_h
// rows and apart_w columns from each other, which are move_h and move_w taps. So a window with a dilation is one without it over every dilation_w-th pixel:
// apart is the dilation, and move the stride, both over their common divisor.
#define DEPTHWISE_FIELDS(FIELD)                                       \
  FIELD(ConvWindow, window) /* cin is 1, cout channels of y for it */ \
  FIELD(ConvOperands, at)                                             \
  FIELD(EpilogueSpec, end)                                            \
  FIELD(s32, images)                                                  \
  FIELD(s32, channels) /* of y, of all groups */                      \
  FIELD(s32, x_access) /* bytes of one load of x */                   \
  FIELD(s32, y_access) /* channels that are stored at once */         \
  FIELD(s32, rows)                                                    \
  FIELD(s32, columns)                                                 \
  FIELD(s32, apart_h)                                                 \
  FIELD(s32, apart_w)                                                 \
  FIELD(s32, move_h)                                                  \
  FIELD(s32, move_w)                                                  \
  FIELD(bool, rolled) /* taps are loops, else each is code of its own */
OCTET_SPEC(Spec, DEPTHWISE_FIELDS)

#define DEPTHWISE_RULES(RULE)                                                        \
  RULE(s.window.cin == 1, "a channel of y reads one of x")                           \
  RULE(s.x_access == 1 || s.x_access == 2 || s.x_access == 4, "a thread has a word") \
  RULE(s.y_access == 1 || s.y_access == 2 || s.y_access == 4, "a thread has a word") \
  RULE(s.channels % s.x_access == 0, "a load would reach into the next pixel")       \
  RULE(s.channels % s.y_access == 0, "a store would reach into the next pixel")      \
  RULE(s.apart_h >= 1 && s.apart_w >= 1, "outputs of a strip are different ones")
OCTET_RULES(Spec, DEPTHWISE_RULES)

constexpr s32 kThreads = 128;  // of a block
constexpr s32 kWord = 4;       // channels of a thread, and taps of a word

// Of a strip: columns of pixels in the image, words of four of them, rows of pixels.
constexpr s32 pixels(const Spec& s) { return (s.columns - 1) * s.move_w + s.window.taps_w; }
constexpr s32 pixel_groups(const Spec& s) { return ceil_div_s32(pixels(s), kWord); }
constexpr s32 in_rows(const Spec& s) { return (s.rows - 1) * s.move_h + s.window.taps_h; }
// Of a pixel of y; the last one may have fewer channels.
constexpr s32 words(const Spec& s) { return ceil_div_s32(s.channels, kWord); }
constexpr s64 strips_along(s32 out, s32 apart, s32 size) {
  return s64{ceil_div_s32(ceil_div_s32(out, apart), size)} * apart;
}
constexpr s64 strip_columns(const Spec& s) {
  return strips_along(s.window.out_w, s.apart_w, s.columns);
}
constexpr s64 strip_rows(const Spec& s) { return strips_along(s.window.out_h, s.apart_h, s.rows); }
// Threads that have something to do.
constexpr s64 items(const Spec& s) {
  return s.images * strip_rows(s) * strip_columns(s) * words(s);
}

struct Params {
  const u8* x;
  const s8* weights;  // tap_word() of each channel, words() * 4 of them
  EpilogueParams end;
};

// Weights are words of four taps, those between which the window lies being zero: of row r, for output column j and pixels 4g to 4g + 3 of the strip.
constexpr s32 tap_word(const Spec& s, s32 r, s32 j, s32 g) {
  return (r * s.columns + j) * pixel_groups(s) + g;
}

}  // namespace octet::cuda::depthwise
