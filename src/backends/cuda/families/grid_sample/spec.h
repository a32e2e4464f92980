// SPDX-License-Identifier: Apache-2.0
// GridSample of images of reals: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda::grid_sample {

// What a position outside of the image has.
enum class Outside : s32 { zero, border, reflection };

#define GRID_SAMPLE_FIELDS(FIELD)                                \
  FIELD(s64, count) /* elements of y */                          \
  FIELD(s64, channels)                                           \
  FIELD(s64, points) /* positions of an image */                 \
  FIELD(s32, height) /* of x */                                  \
  FIELD(s32, width)                                              \
  FIELD(s32, taps) /* along each axis: nearest, linear, cubic */ \
  FIELD(Outside, outside)                                        \
  FIELD(bool, align_corners) /* -1 and 1 are centers of pixels */
OCTET_SPEC(Spec, GRID_SAMPLE_FIELDS)

#define GRID_SAMPLE_RULES(RULE)                                                               \
  RULE(s.taps == 1 || s.taps == 2 || s.taps == 4, "there are weights of 1, 2 and 4 elements") \
  RULE(s.height <= kLongest && s.width <= kLongest, "sizes and positions are exact as f32")
constexpr s32 kLongest = 1 << 24;
OCTET_RULES(Spec, GRID_SAMPLE_RULES)

constexpr s32 kThreads = 256;

struct Params {
  const f32* x;
  const f32* grid;
  f32* y;
};

}  // namespace octet::cuda::grid_sample
