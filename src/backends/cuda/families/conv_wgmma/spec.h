// SPDX-License-Identifier: Apache-2.0
// Convolution of codes by warpgroups of a Hopper: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/epilogue.h"
#include "backends/cuda/device/number.h"
#include "backends/cuda/device/tiled_window.h"

namespace octet::cuda::conv_wgmma {

// Padding holds the zero point of x, and the accelerator brings zeros: what that makes of the sums is a constant of a pixel's class.
#define CONV_WGMMA_EDGES_FIELDS(FIELD)                                         \
  FIELD(bool, exist)                                                           \
  FIELD(s32, top) /* rows and columns of y whose windows reach into padding */ \
  FIELD(s32, bottom)                                                           \
  FIELD(s32, left)                                                             \
  FIELD(s32, right)
OCTET_SPEC(Edges, CONV_WGMMA_EDGES_FIELDS)

// y is one matrix or several, equally wide and each of whole tiles, one behind another; each has a zero point of its own.
#define CONV_WGMMA_PARTS_FIELDS(FIELD) \
  FIELD(s32, count)                    \
  FIELD(s64, bytes) /* of one */       \
  FIELD(s32, zero_point0)              \
  FIELD(s32, zero_point1)              \
  FIELD(s32, zero_point2)
OCTET_SPEC(Parts, CONV_WGMMA_PARTS_FIELDS)

#define CONV_WGMMA_FIELDS(FIELD)                                                \
  FIELD(TiledWindow, main)                                                      \
  FIELD(ConvOperands, at)                                                       \
  FIELD(EpilogueSpec, end)                                                      \
  FIELD(Edges, edges)                                                           \
  FIELD(Parts, parts)                                                           \
  FIELD(Number, real_type) /* as which reals are stored, where y is no codes */ \
  FIELD(s32, y_access)     /* channels that are stored at once */
OCTET_SPEC(Spec, CONV_WGMMA_FIELDS)

constexpr s32 kMostParts = 3;

constexpr s32 kWordsOfChannel = 2;  // in shared memory: the multiplier and the bias
constexpr TiledMemory memory(const Spec& s) {
  return tiled_memory(s.main, kWordsOfChannel, table_bytes(s.end));
}

#define CONV_WGMMA_RULES(RULE)                                                        \
  TILED_WINDOW_RULES(RULE, s.main)                                                    \
  RULE(s.end.table_lanes || !s.end.table, "the table has a copy for each lane")       \
  RULE(s.parts.count == 1 ||                                                          \
           (s.parts.count <= kMostParts && s.main.window.cout % s.parts.count == 0 && \
            s.main.window.cout / s.parts.count % s.main.tile.bn == 0),                \
       "a part is of whole tiles")                                                    \
  RULE(own_channels(s.main.tile) % s.y_access == 0, "a thread stores its own channels")
OCTET_RULES(Spec, CONV_WGMMA_RULES)

struct Params {
  TensorMap x;
  TensorMap
      weights;  // padded_channels rows of pieces * k_bytes bytes: for each tap the channels, filled up with zeros; channel_of_row()
  const s32*
      border;  // for each class of pixels at an edge, what padding adds to a channel; null: nothing
  EpilogueParams end;
};

}  // namespace octet::cuda::conv_wgmma
