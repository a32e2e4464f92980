// SPDX-License-Identifier: Apache-2.0
// How a long call (compile, check, compare) is watched and ended early.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace octet {

struct Progress {
  std::string stage;  // "import", "calibrate", ...
  int64_t done = 0;
  int64_t total = 0;  // 0: not known
};

// Both ways of ending make the call throw Error(cancelled) within one pass over the graph or one sample; it leaves no file.
struct Monitor {
  // Called from the thread that made the call. Returning false ends it; what the function throws passes through.
  std::function<bool(const Progress&)> report;
  // May be requested from any thread.
  std::stop_token stop;
};

}  // namespace octet
