// SPDX-License-Identifier: Apache-2.0
// Steps of LSTM, GRU and RNN: what their host half and their kernel agree on.
#pragma once

#include "backends/cuda/device/recurrent.h"

namespace octet::cuda::recurrent_steps {

// A block walks some sequences of one direction: all units of them, step after step, or some units for one step, where the next launch takes the next one.
#define RECURRENT_STEPS_FIELDS(FIELD)                                                                \
  FIELD(RecurrentWalk, walk)                                                                         \
  FIELD(s32, directions)                                                                             \
  FIELD(s32, gates)   /* 4: LSTM (order i, o, f, c), 3: GRU (z, r, h), 1: RNN */                     \
  FIELD(bool, linear) /* the reset gate acts on what the weights make of the state */                \
  FIELD(s32, hidden)  /* units of a direction */                                                     \
  FIELD(s32, units)   /* of a block */                                                               \
  FIELD(s32, sequences)                                                                              \
  FIELD(s32, each)       /* sequences of a tile */                                                   \
  FIELD(s32, steps_each) /* of a launch */                                                           \
  FIELD(s32, threads)                                                                                \
  FIELD(                                                                                             \
      s32,                                                                                           \
      shared_chunks) /* of the weights' rows, pieces of kLanes elements that lie in shared memory */ \
  FIELD(s32, kept_chunks) /* behind those, in registers of the threads that multiply them */         \
  FIELD(bool, clip)                                                                                  \
  FIELD(F32Bits, clip_at)                                                                            \
  FIELD(bool, peepholes)                                                                             \
  FIELD(bool, input_forget)                                                                          \
  FIELD(bool, weights_together) /* four neighbours are one access */                                 \
  FIELD(bool, weights_constant) /* they were there before this run */                                \
  FIELD(F32Bits, state_scale) /* of the codes that a state is rounded to where it is multiplied */   \
  FIELD(bool, writes_y)                                                                              \
  FIELD(                                                                                             \
      bool,                                                                                          \
      reports) /* lengths may be wrong: what Report keeps of the first is told to Params::outside */
OCTET_SPEC(Spec, RECURRENT_STEPS_FIELDS)

// Of a row, pieces of kLanes elements.
constexpr s64 chunks_of(s64 hidden) { return (hidden + kLanes - 1) / kLanes; }
// Of a block's memory beside weights: states and sums, and states times the reset gate where the third product of GRU is of them.
constexpr s64 state_floats(s64 sequences, s64 chunks, bool gates_first, s64 block_rows) {
  return sequences * chunks * kLanes * (gates_first ? 2 : 1) + sequences * block_rows;
}

// The third product is one with what the second gate makes of the state.
constexpr bool gates_first(const Spec& s) { return s.gates == 3 && !s.linear; }
constexpr s32 chunks(const Spec& s) { return static_cast<s32>(chunks_of(s.hidden)); }
constexpr s32 block_rows(const Spec& s) { return s.gates * s.units; }
constexpr s32 unit_blocks(const Spec& s) { return ceil_div_s32(s.hidden, s.units); }
constexpr s32 groups(const Spec& s) { return ceil_div_s32(s.walk.batch, s.sequences); }
constexpr s32 items(const Spec& s) { return ceil_div_s32(s.sequences * s.units, s.threads); }
constexpr s64 blocks(const Spec& s) { return s64{unit_blocks(s)} * s.directions * groups(s); }
constexpr s64 shared_bytes(const Spec& s) {
  const s64 weights = s64{s.shared_chunks} * kLanes * block_rows(s);
  return (weights + state_floats(s.sequences, chunks(s), gates_first(s), block_rows(s))) *
         s64{sizeof(f32)};
}

#define RECURRENT_STEPS_RULES(RULE)                                                              \
  RULE(s.gates == 1 || s.gates == 3 || s.gates == 4, "a cell is RNN, GRU or LSTM")               \
  RULE(s.sequences % s.each == 0, "a tile is of whole sequences")                                \
  RULE(s.each == 1 || s.each == 2 || s.each == 4, "registers hold the sums of four vectors")     \
  RULE(s.steps_each == 1 || unit_blocks(s) == 1, "a block has not all of the next step's state") \
  RULE(s.shared_chunks + s.kept_chunks <= chunks(s), "there are not so many pieces")             \
  RULE(s.hidden % 4 == 0 || !s.weights_together, "an access would cross two rows")               \
  RULE(s.walk.lengths || !s.reports, "there are no lengths to report")
OCTET_RULES(Spec, RECURRENT_STEPS_RULES)

// Null where the node has none. Beside these, functions of the cell: f32 function_0(f32 x, s32 d) to function_2, d being the direction.
struct Params {
  const f32* from_input;
  const f32* weights;
  const f32* bias;
  const f32* multipliers;
  const f32* peepholes;
  const void* lengths;
  const f32* h_in;  // null: zeros
  const f32* c_in;
  f32* h_out;  // null where nobody reads them
  f32* c_out;
  f32* y;
  u64* outside;        // two words of the host's memory
  s32 first;           // step
  s32 first_of_input;  // the same among those that from_input has
};

}  // namespace octet::cuda::recurrent_steps
