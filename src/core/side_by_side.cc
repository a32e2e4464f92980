// SPDX-License-Identifier: Apache-2.0
#include "core/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace octet {

void side_by_side(size_t count, int threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto take = [&] {
    for (size_t i = 0; (i = next.fetch_add(1)) < count;) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (error == nullptr) error = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const size_t wanted = std::min(count, static_cast<size_t>(std::max(threads, 1)));
    try {
      while (others.size() + 1 < wanted) others.emplace_back(take);
    } catch (const std::system_error&) {
      // Those that are there do the work.
    }
    take();
  }
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace octet
