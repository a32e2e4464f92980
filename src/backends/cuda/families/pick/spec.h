// SPDX-License-Identifier: Apache-2.0
// Channels picked from the pixels of several images: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/element_type.h"

namespace octet::cuda::pick {

constexpr s32 kMostInputs = 8;
constexpr s32 kInputShift = 24;  // of a pick: its input << 24 | channel
using Inputs = List<PixelStrides, kMostInputs>;

#define PICK_FIELDS(FIELD)                                                     \
  FIELD(ElementType, element)                                                  \
  FIELD(s32, vector) /* channels that a thread makes; it divides `channels` */ \
  FIELD(s64, images)                                                           \
  FIELD(s32, out_h)                                                            \
  FIELD(s32, out_w)                                                            \
  FIELD(s32, channels) /* of y */                                              \
  FIELD(PixelStrides, y)                                                       \
  FIELD(Inputs, inputs)
OCTET_SPEC(Spec, PICK_FIELDS)

#define PICK_RULES(RULE) RULE(s.channels % s.vector == 0, "a thread's channels are of one pixel")
OCTET_RULES(Spec, PICK_RULES)

constexpr s32 kThreads = 256;

constexpr s32 vectors(const Spec& s) { return s.channels / s.vector; }  // of a pixel
constexpr s32 pixels(const Spec& s) { return s.out_h * s.out_w; }
constexpr s64 count(const Spec& s) { return s.images * pixels(s) * vectors(s); }

struct Params {
  const void* x[kMostInputs];
  const u32* picks;  // for each channel of y
  void* y;
};

}  // namespace octet::cuda::pick
