// SPDX-License-Identifier: Apache-2.0
// Another program that is given nothing, and what it prints.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/child_limits.h"

namespace octet {

struct CapturedChild {
  ChildOutcome outcome;
  std::string out, errors;  // of each stream: the whole, or, where it is longer than that, the end
};

// Runs it to its end, to a limit, or until `stop` says so, which is as if it was late; nothing that it has started is left then. Throws Error(io) where it cannot be started.
CapturedChild run_captured(const std::vector<std::string>& words, const ChildLimits& limits,
                           size_t most_bytes, const std::function<bool()>& stop = nullptr);

}  // namespace octet
