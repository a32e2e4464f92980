// SPDX-License-Identifier: Apache-2.0
// Pieces of work that take long and know nothing of each other, on threads that live as long as they do.
#pragma once

#include <cstddef>
#include <functional>

namespace octet {

// Calls work(i) for each i below `count`, on at most so many threads, the calling one among them: fewer where the system has no more. Throws
// the first error, when all have ended; what has not begun by then is left out.
void side_by_side(size_t count, int threads, const std::function<void(size_t)>& work);

}  // namespace octet
