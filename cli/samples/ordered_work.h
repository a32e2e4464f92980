// SPDX-License-Identifier: Apache-2.0
// Work that threads share, each taking the next item when it has done its last, and results told in the order of the items.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "octet/threads.h"

namespace octet::cli {

// What throws ends all: items before it are told, then its error is the caller's.
template <class Item>
class OrderedWork {
 public:
  struct Steps {
    std::function<std::optional<Item>()> take;  // one call at a time; nothing at the end
    std::function<void(Item&)> work;            // from each of the threads
    std::function<void(Item&)> tell;            // on the caller's thread
    std::function<int64_t(const Item&)> bytes;  // that it keeps, before the work and after it
  };

  OrderedWork(Steps steps, int threads) : steps_(std::move(steps)), threads_(threads) {}

  void run() {
    run_threads(threads_ + 1, [this](int i) {
      try {
        if (i == 0) {
          tell_all();
        } else {
          work_all();
        }
      } catch (...) {
        end();
        throw;
      }
    });
  }

 private:
  // Items that wait for a slow one before them: as many as a fast device does meanwhile, in little memory.
  static constexpr int64_t kMostItems = 256;
  static constexpr int64_t kMostBytes = int64_t{64} << 20;

  struct Entry {
    std::optional<Item> item = std::nullopt;
    int64_t bytes = 0;
    bool done = false;
    std::exception_ptr error = nullptr;
  };

  void tell_all() {
    while (std::optional<Item> item = next_done()) steps_.tell(*item);
  }

  void work_all() {
    while (Entry* entry = next()) {
      try {
        steps_.work(*entry->item);
        finish(*entry, steps_.bytes(*entry->item), nullptr);
      } catch (...) {
        finish(*entry, entry->bytes, std::current_exception());
      }
    }
  }

  // Each thread may have one item and another that waits, of whatever size.
  bool has_room() const {
    const int64_t count = std::ssize(untold_);
    return count < 2 * threads_ || (count < kMostItems && bytes_ < kMostBytes);
  }

  // Taken and not yet worked on; null when there is none any more.
  Entry* next() {
    const std::lock_guard alone(taking_);  // reading takes long: results are told meanwhile
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ended_ || has_room(); });
      if (ended_) return nullptr;
    }
    Entry taken;
    try {
      taken.item = steps_.take();
      if (taken.item) taken.bytes = steps_.bytes(*taken.item);
    } catch (...) {
      taken.error = std::current_exception();
    }
    return add(std::move(taken));
  }

  Entry* add(Entry taken) {
    const std::lock_guard lock(mutex_);
    if (ended_) return nullptr;
    const bool failed = taken.error != nullptr;
    ended_ = failed || !taken.item;
    changed_.notify_all();
    if (ended_ && !failed) return nullptr;
    taken.done = failed;
    bytes_ += taken.bytes;
    untold_.push_back(std::move(taken));
    return failed ? nullptr : &untold_.back();
  }

  void finish(Entry& entry, int64_t bytes, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes - entry.bytes;
    entry.bytes = bytes;
    entry.done = true;
    entry.error = std::move(error);
    ended_ = ended_ || entry.error != nullptr;
    changed_.notify_all();
  }

  // The first of those that are not told; nothing when all are.
  std::optional<Item> next_done() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return untold_.empty() ? ended_ : untold_.front().done; });
    if (untold_.empty()) return std::nullopt;
    Entry entry = std::move(untold_.front());
    untold_.pop_front();
    bytes_ -= entry.bytes;
    changed_.notify_all();
    if (entry.error) std::rethrow_exception(entry.error);
    return std::move(entry.item);
  }

  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  const Steps steps_;
  const int threads_;
  std::mutex taking_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<Entry> untold_;  // whose elements stay where they are
  int64_t bytes_ = 0;
  bool ended_ = false;  // nothing is taken any more
};

}  // namespace octet::cli
