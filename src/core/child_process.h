// SPDX-License-Identifier: Apache-2.0
// Another program that answers: bytes to and from it with a deadline, and the end of what it says on standard error. It ends with the
// object, and so does whatever it has started.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/spawned_child.h"
#include "core/types.h"

namespace octet {

class ChildProcess {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // `words`: the program (looked for in PATH where it has no slash) and its arguments. Its standard input is one socket for both
  // directions; what it prints on standard output goes to standard error. Throws Error(io) where it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& words, const ChildLimits& limits = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Throw Error with the program's last words: io where it ends first or the deadline passes, out_of_memory where it takes more than its limits.
  void write(std::span<const u8> bytes, Deadline deadline);
  void read(std::span<u8> bytes, Deadline deadline);

 private:
  // Waits until its socket can be read (or written), and takes what it says on standard error meanwhile.
  void wait_for(short event, Deadline deadline);
  bool take_words();  // false: there are none
  [[noreturn]] void fail_ended();
  std::string last_words() const;

  std::string program_;
  ChildLimits limits_;
  int socket_ = -1;
  int errors_ = -1;
  std::string words_;  // the last of standard error
  std::optional<SpawnedChild> child_;
};

}  // namespace octet
