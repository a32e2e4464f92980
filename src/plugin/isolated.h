// SPDX-License-Identifier: Apache-2.0
// Foreign code in a process of its own: what it does to memory, to the process, or by never returning is an answer and no crash.
#pragma once

#include <functional>
#include <string>

namespace octet {

struct Outcome {
  bool passed = false;
  std::string text;  // what the body returned, or how it ended
};

// Runs `body` in a child process; what it throws, and what it returns, comes back. `passed` is false where the child threw, died, left or
// took longer than `seconds`.
Outcome in_child(const std::function<std::string()>& body, int seconds);

// In the child: what is being done, for the report of a crash.
void note_stage(const std::string& stage);

}  // namespace octet
