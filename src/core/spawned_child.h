// SPDX-License-Identifier: Apache-2.0
// Another program in a child process: in a session of its own, with nothing of this process but three descriptors, within limits. Whatever it
// starts ends with it: what leaves its session too is known by its environment. The system ends it with the thread that made the object, also
// where the process goes on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/child_limits.h"

namespace octet {

// Descriptors of this process that the program gets; -1: none of ours, but /dev/null.
struct ChildStreams {
  int in = -1, out = -1, errors = -1;
};

class SpawnedChild {
 public:
  // `words`: the program (looked for in PATH where it has no slash) and its arguments. Throws Error(io) where it cannot be started.
  SpawnedChild(const std::vector<std::string>& words, const ChildStreams& streams,
               const ChildLimits& limits);
  ~SpawnedChild();  // ends it
  SpawnedChild(const SpawnedChild&) = delete;
  SpawnedChild& operator=(const SpawnedChild&) = delete;

  // Until it ends, has passed a limit, or is stopped, which is as if it was late; nothing of it is left then.
  ChildOutcome wait(const std::function<bool()>& stop = nullptr);
  // For who waits for something else: which limit it has passed by now, time apart.
  std::optional<ChildEnd> passed() { return watch_->passed(); }

 private:
  ChildOutcome end(ChildEnd how);

  pid_t pid_ = -1;
  std::string mark_;
  ChildLimits limits_;
  std::optional<ChildWatch> watch_;
};

}  // namespace octet
