// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of reals, in the reference's order of additions: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/real_end.h"

namespace octet::cuda::depthwise_real {

// window.groups are the channels, of which each has one of y; window.pixels is 0: how many there are is known when a step runs.
#define DEPTHWISE_REAL_FIELDS(FIELD)                                                               \
  FIELD(ConvWindow, window)                                                                        \
  FIELD(ConvOperands, at)                                                                          \
  FIELD(RealEnd, end)                                                                              \
  FIELD(Number, x)                                                                                 \
  FIELD(Number, x_rounded) /* codes become reals of this type */                                   \
  FIELD(bool, exact)       /* products of x and weights are numbers of f32: none is rounded */     \
  FIELD(s32, channels)     /* of a thread: neighbours, 1 to 8 */                                   \
  FIELD(s32, columns)      /* of y, of a thread that keeps rows of x; 0: a thread has one pixel */ \
  FIELD(s32, rows)         /* of y, one after another, each as far apart as strides_h() has it */
OCTET_SPEC(Spec, DEPTHWISE_REAL_FIELDS)

constexpr s32 taps(const Spec& s) { return s.window.taps_h * s.window.taps_w; }
constexpr s32 greatest_divisor(s32 a, s32 b) { return b == 0 ? a : greatest_divisor(b, a % b); }
// Of one axis: rows or columns of y that read the same ones of x lie `apart` from each other, and from one to the next a window moves by so many taps. A
// window with a dilation is one without it over every second, third, ... row or column.
struct Strides {
  s32 apart, move;
};
constexpr Strides strides_of(s32 stride, s32 dilation, s32 out) {
  const s32 common = greatest_divisor(dilation, stride), apart = dilation / common;
  return {apart < out ? apart : out, stride / common};
}
constexpr Strides strides_h(const ConvWindow& w) {
  return strides_of(w.stride_h, w.dilation_h, w.out_h);
}
constexpr Strides strides_w(const ConvWindow& w) {
  return strides_of(w.stride_w, w.dilation_w, w.out_w);
}
// A thread keeps as many rows of x as a window has, of which none is left out.
constexpr bool keeps_rows(const ConvWindow& w) {
  constexpr s64 kFarthest = s64{1} << 30;  // from the first tap to the last, in 32 bits
  return strides_h(w).move <= w.taps_h && s64{w.taps_h} * w.dilation_h < kFarthest &&
         s64{w.taps_w} * w.dilation_w < kFarthest;
}
// Of x, what a thread reads of a row.
constexpr s32 read_columns(const Spec& s) {
  return s.columns == 0 ? 1 : (s.columns - 1) * strides_w(s.window).move + s.window.taps_w;
}
// After so many rows of y each row of x is where the first one's was.
constexpr s32 period(const ConvWindow& w) {
  return w.taps_h / greatest_divisor(w.taps_h, strides_h(w).move);
}
constexpr s32 tiles_along(s32 out, s32 apart, s32 size) {
  return ceil_div_s32(ceil_div_s32(out, apart), size < 1 ? 1 : size) * apart;
}
constexpr s32 column_tiles(const Spec& s) {
  return tiles_along(s.window.out_w, strides_w(s.window).apart, s.columns);
}
constexpr s32 row_tiles(const Spec& s) {
  return tiles_along(s.window.out_h, strides_h(s.window).apart, s.rows);
}
constexpr s32 threads(const Spec& s) { return s.columns == 0 ? 256 : 128; }
// Of an image, what a thread has.
constexpr s64 items(const Spec& s) {
  const s64 pieces = s.window.groups / s.channels;
  return s.columns == 0 ? pieces * s.window.out_h * s.window.out_w
                        : pieces * column_tiles(s) * row_tiles(s);
}

#define DEPTHWISE_REAL_RULES(RULE)                                                     \
  RULE(s.window.groups % s.channels == 0, "a thread would go beyond the last channel") \
  RULE(s.window.cin == 1 && s.window.cout == 1, "a group is one channel")              \
  RULE(s.columns == 0 || keeps_rows(s.window), "a window would leave out rows")        \
  RULE(s.columns == 0 || s.rows > 0, "a thread has no row")
OCTET_RULES(Spec, DEPTHWISE_REAL_RULES)

struct Params {
  const void* x;
  const f32* weights;  // [tap][channel]
  RealEndParams end;
  s32 images;
};

}  // namespace octet::cuda::depthwise_real
