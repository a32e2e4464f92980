// SPDX-License-Identifier: Apache-2.0
// Another program that answers: bytes to and from it with a deadline, and the end of what it says on standard error. It ends with the
// object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "core/types.h"

namespace octet {

class ChildProcess {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // `words`: the program (looked for in PATH where it has no slash) and its arguments. Its standard input is one socket for both
  // directions; what it prints on standard output goes to standard error. Throws Error(io) where it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& words);
  ~ChildProcess();  // kills it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Throw Error(io) with the program's last words where it ends first, or the deadline passes.
  void write(std::span<const u8> bytes, Deadline deadline);
  void read(std::span<u8> bytes, Deadline deadline);

 private:
  // Waits until its socket can be read (or written), and takes what it says on standard error meanwhile.
  void wait_for(short event, Deadline deadline);
  bool take_words();  // false: there are none
  [[noreturn]] void fail_ended();
  std::string last_words() const;

  std::string program_;
  pid_t pid_ = -1;
  int socket_ = -1;
  int errors_ = -1;
  std::string words_;  // the last of standard error
};

}  // namespace octet
