// SPDX-License-Identifier: Apache-2.0
#include "slots.h"

#include <algorithm>

namespace octet_ort {

Slots::Slots(int slots, int threads) {
  for (int i = 0; i < slots; ++i) {
    pools_.push_back(octet::make_thread_pool(std::max(1, threads / slots)));
    free_.push_back(slots - 1 - i);
  }
}

int Slots::take() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return !free_.empty(); });
  const int slot = free_.back();  // the one that ran last, whose memory is warm
  free_.pop_back();
  return slot;
}

void Slots::give(int slot) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }
  freed_.notify_one();
}

}  // namespace octet_ort
