// SPDX-License-Identifier: Apache-2.0
// A kernel's run.
#pragma once

#include <string>
#include <vector>

#include "abi.h"
#include "backends/cuda/driver_types.h"

namespace octet::emulator {

struct Launch {
  std::string name;
  EmulatedModule module;
  const EmulatedKernel* kernel;
  EmulatedDim grid, block;
  size_t shared;                          // dynamic, in bytes
  std::vector<std::vector<char>> values;  // of the parameters
  bool programmatic;                      // may begin before the kernel in front of it has ended
  bool watched;                           // what it writes is noted (watch.h)
};

// Runs the grid's blocks one after another. A fault is told on the standard error and returned as the driver's error.
CUresult run_grid(const Launch& launch);

// Of the running kernel: ends it with `error`. Nothing is destroyed on the way.
[[noreturn]] void stop_kernel(CUresult error, const char* why);

// Of fibers.cc: runs a block whose threads wait for each other, each on a stack of its own.
// With `hides` what kernels wrote is hidden until its threads wait for their predecessor.
void run_fibers(const Launch& launch, void** values, bool hides);
const EmulatedServices& services();
bool in_shared_memory(const void* at, size_t bytes);
bool in_fiber_guard(const void* at);

}  // namespace octet::emulator
