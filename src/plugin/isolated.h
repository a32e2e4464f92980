// SPDX-License-Identifier: Apache-2.0
// Foreign code in a process of its own: what it does to memory, to the process, or by never returning is an answer and no crash. Nothing that
// it starts is left (core/forked_child.h).
#pragma once

#include <functional>
#include <string>

#include "core/child_limits.h"

namespace octet {

struct Outcome {
  bool passed = false;
  bool ended = true;  // false: it had to be killed
  std::string text;   // what the body returned, or how it ended
};

struct Isolation {
  ChildLimits limits;
  size_t most_text = 1 << 20;
};

// Runs `body` in a child process; what it throws, and what it returns, comes back through memory that both share, for the child has no
// descriptor. `passed` is false where the child threw, died, left, passed a limit or left processes behind.
//
// The child's word: foreign code shares its memory. What must not be forged is judged here, of what the code computed (evidence.h).
Outcome in_child(const std::function<std::string()>& body, const Isolation& isolation);

// In the child: what is being done, for the report of a crash.
void note_stage(const std::string& stage);

}  // namespace octet
