// SPDX-License-Identifier: Apache-2.0
// A ResNet bottleneck of codes on a Hopper: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/bottleneck.h"
#include "backends/cuda/device/tensor_map.h"

namespace octet::cuda::bottleneck {

#define BOTTLENECK_FIELDS(FIELD)                                          \
  BOTTLENECK_BLOCK_FIELDS(FIELD)                                          \
  FIELD(s32, warpgroups)  /* of a block, each with rows of its own */     \
  FIELD(s32, stages)      /* rows of x of a warpgroup in shared memory */ \
  FIELD(bool, bias_added) /* some bias has too many digits for a product: all are added */
OCTET_SPEC(Spec, BOTTLENECK_FIELDS)

#define BOTTLENECK_RULES(RULE) \
  BOTTLENECK_BLOCK_RULES(RULE) \
  RULE(s.stages >= 2, "one row of x comes while another is reduced")
OCTET_RULES(Spec, BOTTLENECK_RULES)

constexpr s32 threads(const Spec& s) { return 128 * s.warpgroups; }

// First tiles of weights and of biases, and how many there are.
struct Tiles {
  s32 spatial, expand, project, bias, all;
};
constexpr Tiles tiles(const Spec& s) {
  const WeightTiles t = weight_tiles(s);
  return {t.spatial, t.expand, t.project, t.all,
          t.all + (s.bias_added ? 0 : ceil_div_s32(ends(s), 2))};
}

// Bytes of shared memory, and where things lie in it.
struct Memory {
  s64 chunk;  // of 64 channels of a row of x
  s64 x_row;
  s64 slot;  // a reduced row with a pixel of border on both sides
  s64 ring;
  s64 x, rings, scales, biases, barriers, all;
};
constexpr s64 larger(s64 a, s64 b) { return a > b ? a : b; }
constexpr Memory memory(const Spec& s) {
  constexpr s32 kSwizzle = 512, kAlignment = 1024, kWord = 4, kBarrier = 8;
  Memory m{};
  m.chunk = ceil_div_s32(s.width * kChannels, kSwizzle) * kSwizzle;
  m.x_row = s.chunks * m.chunk;
  m.slot = (s.width + kTaps - 1) * kChannels;
  m.ring = (kTaps * m.slot + kSwizzle - 1) / kSwizzle * kSwizzle;
  m.x = s64{tiles(s).all} * kTileBytes;
  m.rings = m.x + s.warpgroups * s.stages * m.x_row;
  m.scales = m.rings + s.warpgroups * m.ring;
  m.biases = m.scales + ends(s) * kChannels * kWord;
  m.barriers = m.biases + (s.bias_added ? ends(s) * kChannels * kWord : 0);
  m.all = m.barriers + kBarrier * (1 + s.warpgroups * (s.stages + 1));
  // Products read 64 rows from any tap of the last slot and from the last chunk of x, however few pixels there are.
  const s64 last_slot = m.scales - m.ring + (kTaps - 1) * m.slot;
  m.all = larger(m.all, last_slot + (kChannels + kTaps - 1) * kChannels);
  m.all = larger(m.all, m.rings - m.chunk + kTileBytes) + kAlignment;
  return m;
}

// Biases are one more product by a row of 1, 255, 255, ...: their digits to base 255.
constexpr s32 kDigits = 32, kBase = 255;

// `scales` and `biases`: of all channels of ends(), place_of_end(); biases null where products add them.
struct Params {
  TensorMap x, weights;
  const f32* scales;
  const s32* biases;
  u8* out;
};

}  // namespace octet::cuda::bottleneck
