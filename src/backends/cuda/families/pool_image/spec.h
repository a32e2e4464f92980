// SPDX-License-Identifier: Apache-2.0
// Largest codes of large windows: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/pool_window.h"

namespace octet::cuda::pool_image {

constexpr s32 kThreads = 256;
constexpr s32 kChannels = 16;  // of a block

#define POOL_IMAGE_FIELDS(FIELD) \
  FIELD(bool, is_signed)         \
  FIELD(PoolWindow, window)      \
  FIELD(s64, images)             \
  FIELD(s32, channels)           \
  FIELD(PixelStrides, x)         \
  FIELD(PixelStrides, y)
OCTET_SPEC(Spec, POOL_IMAGE_FIELDS)

#define POOL_IMAGE_RULES(RULE)                                                                \
  RULE(s.channels % kChannels == 0, "a block has 16 channels")                                \
  RULE((s.x.image | s.x.row | s.x.pixel) % kChannels == 0, "16 channels of x are one access") \
  RULE((s.y.image | s.y.row | s.y.pixel) % kChannels == 0, "16 channels of y are one access")
OCTET_RULES(Spec, POOL_IMAGE_RULES)

constexpr s32 slices(const Spec& s) { return s.channels / kChannels; }
constexpr s64 blocks(const Spec& s) { return s.images * slices(s); }
// The image, then the largest of its rows.
constexpr s64 shared_bytes(const PoolWindow& w) {
  return kChannels * (s64{w.in_h} * w.in_w + s64{w.in_h} * w.out_w);
}

struct Params {
  const u8* x;
  u8* y;
};

}  // namespace octet::cuda::pool_image
