// SPDX-License-Identifier: Apache-2.0
// Several threads that begin together.
#pragma once

#include <functional>

namespace octet {

// Calls body(i) for each i from 0 to count - 1, each on a thread of its own, 0 on the caller's, and returns when all have ended. None
// begins before all threads are there: where the system does not start one, nothing is called, and Error(out_of_memory) says how
// many there were. What a call throws is thrown when all have ended: of several, what the lowest i threw.
void run_threads(int count, const std::function<void(int)>& body);

}  // namespace octet
