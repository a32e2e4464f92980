// SPDX-License-Identifier: Apache-2.0
// How many runs of a session go on at once, and the threads of each.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "octet/engine.h"

namespace octet_ort {

class Slots {
 public:
  // `threads` of all slots together.
  Slots(int slots, int threads);

  int size() const { return static_cast<int>(pools_.size()); }
  const std::shared_ptr<octet::ThreadPool>& pool(int slot) const {
    return pools_[static_cast<size_t>(slot)];
  }

  // A slot that is nobody else's until the lease ends. Waits for one.
  class Lease {
   public:
    explicit Lease(Slots& slots) : slots_(slots), slot_(slots.take()) {}
    ~Lease() { slots_.give(slot_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    int slot() const { return slot_; }

   private:
    Slots& slots_;
    int slot_;
  };

 private:
  int take();
  void give(int slot);

  std::vector<std::shared_ptr<octet::ThreadPool>> pools_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<int> free_;
};

}  // namespace octet_ort
