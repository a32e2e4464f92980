// SPDX-License-Identifier: Apache-2.0
// What a story insists on.
#pragma once

#include <cstdlib>
#include <stdexcept>

#include "world.h"

namespace hostile {

inline void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("story: %s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

[[noreturn]] inline void raise() { throw std::runtime_error("thrown by the program"); }

// What must fail with a line in the log.
template <class Work>
void refused(const Logger& logger, const std::string& what, const Work& work) {
  const int before = logger.errors;
  expect(!work(), what);
  expect(logger.errors > before, what + ": nothing was told");
}

inline bool builds(World& world) {
  const Own<IHostMemory> plan(
      world.builder().buildSerializedNetwork(world.network(), world.config()));
  return plan != nullptr;
}

}  // namespace hostile
