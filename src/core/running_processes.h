// SPDX-License-Identifier: Apache-2.0
// The processes of this system, as /proc tells them: who descends from whom, and how to end all of them.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "core/types.h"

namespace octet {

struct RunningProcess {
  pid_t pid = 0, parent = 0, session = 0;
  u64 started = 0;  // in ticks of the system
  s64 resident_bytes = 0;
};

// Those that have not ended.
std::vector<RunningProcess> running_processes();
s64 own_resident_bytes();

// Which processes belong to a child: `root` and what descends from it, what is in the session `session`, and what has the text `mark` in the
// environment that it was started with; never the process that asks. 0 and "": nobody by that.
struct Kin {
  pid_t root = 0, session = 0;
  std::string_view mark = {};
};
std::vector<RunningProcess> kin_of(const Kin& kin);

// Kills all of them, and those that they start meanwhile; collects those that are children of this process where `collects`. Returns how many there
// were. Those that the system does not let go within seconds are given up.
int end_kin(const Kin& kin, bool collects);

}  // namespace octet
