// SPDX-License-Identifier: Apache-2.0
// What the weights of a recurrent layer's input make of x at many steps at once: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/recurrent.h"

namespace octet::cuda::recurrent_inputs {

#define RECURRENT_INPUTS_FIELDS(FIELD)                              \
  FIELD(RecurrentWalk, walk)                                        \
  FIELD(s32, directions)                                            \
  FIELD(s32, input) /* elements of x at a step */                   \
  FIELD(s32, rows)  /* of the weights of one direction */           \
  FIELD(ElementType, x)                                             \
  FIELD(s32, zero_point)  /* of x where it is codes */              \
  FIELD(bool, x_together) /* four neighbours of x are one access */ \
  FIELD(bool, w_together) /* of the weights */
OCTET_SPEC(Spec, RECURRENT_INPUTS_FIELDS)

#define RECURRENT_INPUTS_RULES(RULE)                                                 \
  RULE(s.walk.codes || s.x == ElementType::f32, "products are of reals or of codes") \
  RULE(s.input % 4 == 0 || !(s.x_together || s.w_together), "an access would cross two rows")
OCTET_RULES(Spec, RECURRENT_INPUTS_RULES)

constexpr s32 kTile = 32;  // rows and vectors of a block
constexpr s32 kThreads = 256;
constexpr s32 kChunksEach = 2;  // of kLanes elements, that a block has at the same time

constexpr s32 vectors(const Spec& s) { return s.walk.at_once * s.walk.batch; }
constexpr s32 row_tiles(const Spec& s) { return ceil_div_s32(s.rows, kTile); }
constexpr s32 vector_tiles(const Spec& s) { return ceil_div_s32(vectors(s), kTile); }
constexpr s64 blocks(const Spec& s) { return s64{row_tiles(s)} * vector_tiles(s) * s.directions; }

// Null where the node has none.
struct Params {
  const void* x;
  const f32* weights;
  const f32* bias;  // of x and of the state, for each direction
  const f32*
      multipliers;      // of products of codes: of rows of the input's weights, then of the state's
  const void* lengths;  // of the sequences
  f32* sums;            // [direction][step][sequence][row]
  s32 first;            // step of the sums
};

}  // namespace octet::cuda::recurrent_inputs
