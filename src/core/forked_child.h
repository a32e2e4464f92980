// SPDX-License-Identifier: Apache-2.0
// Foreign code in a child process that is forked from here. Between the two stands a keeper, whose only work is to watch: whatever the child
// starts belongs to it, even what leaves its group and its session, and all of that is gone when run_forked() returns, or when this process ends.
#pragma once

#include <functional>

#include "core/child_limits.h"

namespace octet {

// Runs `body` in a child that has no descriptor but an empty input and an output that ends in ChildOutcome::words, and cannot reach its
// keeper or this process (confinement.h). What `body` throws must not leave it; what it has to say it writes to memory that both share.
// The child exits with 0 behind it. Throws Error(io) where the system has no process for it.
ChildOutcome run_forked(const std::function<void()>& body, const ChildLimits& limits);

}  // namespace octet
