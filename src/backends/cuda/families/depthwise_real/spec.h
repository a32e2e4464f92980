// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of reals, in the reference's order of additions: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/real_end.h"

namespace octet::cuda::depthwise_real {

// window.groups are the channels, of which each has one of y; window.pixels is 0: how many there are is known when a step runs.
#define DEPTHWISE_REAL_FIELDS(FIELD)                             \
  FIELD(ConvWindow, window)                                      \
  FIELD(ConvOperands, at)                                        \
  FIELD(RealEnd, end)                                            \
  FIELD(Number, x)                                               \
  FIELD(Number, x_rounded) /* codes become reals of this type */ \
  FIELD(s32, channels)     /* of a thread: neighbours, 1 to 8 */
OCTET_SPEC(Spec, DEPTHWISE_REAL_FIELDS)

#define DEPTHWISE_REAL_RULES(RULE)                                                     \
  RULE(s.window.groups % s.channels == 0, "a thread would go beyond the last channel") \
  RULE(s.window.cin == 1 && s.window.cout == 1, "a group is one channel")
OCTET_RULES(Spec, DEPTHWISE_REAL_RULES)

constexpr s32 kThreads = 256;
constexpr s32 taps(const Spec& s) { return s.window.taps_h * s.window.taps_w; }

struct Params {
  const void* x;
  const f32* weights;  // [tap][channel]
  RealEndParams end;
  s32 pixels;  // of y, of all images
};

}  // namespace octet::cuda::depthwise_real
