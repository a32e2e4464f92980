// SPDX-License-Identifier: Apache-2.0
// What Octet refuses to exceed, whatever a file asks for. docs/limits.md lists these and the fixed limits.
#pragma once

#include <cstdint>

namespace octet {

// Memory is a property of the process, so the limits are too: set them before work begins.
struct Limits {
  // Bytes of tensors, weights and arenas alive at once; 0: machine_memory_limit(). Larger values count as that.
  int64_t memory = 0;
  // Rounds of all Loops and Scans of one run together.
  int64_t loop_trips = 1'000'000;
};

void set_limits(const Limits& limits);
Limits limits();  // `memory` is the number in force

// Three quarters of what this process may have: the machine's memory, or its control group's limit when that is lower.
int64_t machine_memory_limit();

// For a program that replaces `operator new`, so that what containers take counts, too: all that any file can make grow
// (cli/counted_new.cc). The first throws std::bad_alloc where the limit would be passed; calls of Octet then end with
// Error(out_of_memory), which names the limit.
void count_heap(int64_t bytes);
void uncount_heap(int64_t bytes) noexcept;

// What the program takes without --max-memory: four times the file, at least 8 GiB, at most machine_memory_limit().
int64_t default_memory_limit(uint64_t file_bytes);

}  // namespace octet
