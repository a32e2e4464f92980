// SPDX-License-Identifier: Apache-2.0
// How the steps of a recurrent layer are shared out among blocks.
#pragma once

#include <vector>

#include "backends/cuda/device.h"
#include "core/types.h"

namespace octet::cuda {

struct RecurrentSizes {
  s64 steps = 0, batch = 0, hidden = 0, directions = 1, gates = 1;
  bool gates_first = false;  // the state is multiplied a second time when the gates are known
};

struct RecurrentShape {
  s64 units = 0, sequences = 1;  // of a block
  s64 each = 1;                  // sequences of a tile
  s64 threads = 0;
  s64 shared_chunks = 0;  // of the weights, in shared memory
  s64 kept_chunks = 0;    // behind those, in registers
  s64 steps = 1;          // of a launch
  s64 unit_blocks = 1, blocks = 1;
  s64 shared_bytes = 0;
  f64 cycles = 0;  // of the whole walk
};

// Best first: blocks that have all units of their sequences and walk them from end to end, and blocks of some units, launched for each
// step. A launch walks `most_steps` at most. Empty where not even one sequence's state fits into shared memory.
std::vector<RecurrentShape> recurrent_shapes(const RecurrentSizes& sizes, s64 most_steps,
                                             const Chip& chip);

}  // namespace octet::cuda
