// SPDX-License-Identifier: Apache-2.0
// The rounds of all loops of one run, counted together against Limits::loop_trips: loops in loops multiply, so a limit for each of
// them would be none.
#pragma once

#include "core/types.h"

namespace octet {

// Counts from its beginning to its end, for everything that its thread runs; one inside of another joins it.
class LoopRounds {
 public:
  LoopRounds();
  ~LoopRounds();
  LoopRounds(const LoopRounds&) = delete;
  LoopRounds& operator=(const LoopRounds&) = delete;

  // Before each round. Throws Error(out_of_memory) where the limit would be passed.
  static void count(s64 rounds = 1);
};

}  // namespace octet
