// SPDX-License-Identifier: Apache-2.0
#include "core/rounds.h"

#include "core/check.h"
#include "octet/limits.h"

namespace octet {
namespace {

struct RoundCount {
  int open = 0;  // LoopRounds inside of each other
  s64 rounds = 0;
};

RoundCount& rounds_of_thread() {
  thread_local RoundCount count;
  return count;
}

}  // namespace

LoopRounds::LoopRounds() {
  RoundCount& count = rounds_of_thread();
  if (count.open++ == 0) count.rounds = 0;
}

LoopRounds::~LoopRounds() { --rounds_of_thread().open; }

void LoopRounds::count(s64 rounds) {
  s64& total = rounds_of_thread().rounds;
  const s64 limit = limits().loop_trips;
  if (rounds > limit - total) {
    fail_about("Limits.loop_trips", Error::Code::out_of_memory,
               "the loops of this run have run {} times, the limit, and go on", limit);
  }
  total += rounds;
}

}  // namespace octet
