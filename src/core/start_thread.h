// SPDX-License-Identifier: Apache-2.0
// The one place where a thread that cannot be started becomes an error.
#pragma once

#include <functional>
#include <thread>

namespace octet {

// Error(out_of_memory) where the system refuses one more; it tells that `started` of `wanted` are there.
std::thread start_thread(std::function<void()> body, int started = 0, int wanted = 1);

}  // namespace octet
