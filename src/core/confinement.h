// SPDX-License-Identifier: Apache-2.0
// What foreign code that runs in a child of ours cannot do to the processes that watch over it.
#pragma once

#include <sys/types.h>

#include <span>

namespace octet {

// From now on this process and those that it starts cannot send signals to `guarded` or their groups, change their limits, trace another process or
// read and write its memory, or outlive their keeper unnoticed. A system without these filters runs it without.
void confine(std::span<const pid_t> guarded, pid_t guarded_group);

}  // namespace octet
