// SPDX-License-Identifier: Apache-2.0
// What a child process may take, how it ended, and the watch over both: the same for every process that Octet starts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/running_processes.h"
#include "core/types.h"

namespace octet {

// 0: no limit.
struct ChildLimits {
  int seconds = 0;            // until it must have ended
  int processor_seconds = 0;  // of each of its processes
  s64 memory =
      0;  // resident bytes of all of its processes together, beyond those that they were forked with
  int processes = 0;   // that live at the same time, itself apart
  s64 file_bytes = 0;  // of each file that it writes
  int open_files = 0;
};

enum class ChildEnd {
  left,       // code: the exit code
  signal,     // code: which
  late,       // killed: not done in time
  memory,     // killed: more memory
  processes,  // killed: more processes
  lost,       // its keeper was killed
};

struct ChildOutcome {
  ChildEnd how = ChildEnd::lost;
  int code = 0;
  int left_behind = 0;     // processes of its own that lived when it ended
  std::string words = {};  // the end of what it printed, where that was taken
};

// "takes more than 20 s", "ends with 3", "dies: Segmentation fault".
std::string to_string(const ChildOutcome& outcome, const ChildLimits& limits);

// In the child: what the system enforces of the limits. Only what is safe between vfork() and exec().
void enforce_limits(const ChildLimits& limits);

// Closes all descriptors from `first` on, or leaves them to exec() to close.
enum class Closing { now, by_exec };
void close_from(int first, Closing when);

// Over a child of this process, which it does not collect, and those that belong to it.
class ChildWatch {
 public:
  // `inherited`: resident bytes that are no work of each process, but a copy of the caller's memory.
  ChildWatch(pid_t child, const Kin& kin, const ChildLimits& limits, s64 inherited = 0);
  ~ChildWatch();
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;

  // Until it has ended or passed a limit. Before that only where the other end of `life` is closed (-1: none), or `stop`, which is asked
  // now and again, says so: then as if it was late.
  ChildEnd wait(int life = -1, const std::function<bool()>& stop = nullptr);
  // Which limit it has passed by now, time apart. The system is not asked more often than that costs little.
  std::optional<ChildEnd> passed();
  bool has_ended() const;

 private:
  using Clock = std::chrono::steady_clock;
  int patience(bool asks) const;  // in ms

  const pid_t child_;
  const Kin kin_;
  const ChildLimits limits_;
  const s64 inherited_;
  int pidfd_ = -1;  // where the system has none, it is asked again and again
  Clock::time_point end_, next_sample_;
};

// Of a process that has ended and was not collected yet: how.
ChildOutcome collect_child(pid_t child);

}  // namespace octet
