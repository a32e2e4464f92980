// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace octet {
namespace {

// About 20 microseconds of polling before a worker sleeps: longer than the gap between two steps of a run.
constexpr int kSpins = 4000;

void pause() { __builtin_ia32_pause(); }

}  // namespace

struct ThreadPool::State {
  int threads = 1;
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<u64> generation{0};
  std::atomic<int> running{0};
  std::atomic<bool> stop{false};
  int sleepers = 0;  // under mutex
  Task task{};
  s64 count = 0;

  void piece(int thread) const {
    const s64 begin = count * thread / threads;
    const s64 end = count * (thread + 1) / threads;
    if (begin < end) task.call(task.context, begin, end, thread);
  }

  void wait_for(u64 seen) {
    for (int i = 0; i < kSpins; ++i) {
      if (generation.load(std::memory_order_acquire) != seen) return;
      pause();
    }
    std::unique_lock lock(mutex);
    ++sleepers;
    wake.wait(lock, [&] { return generation.load(std::memory_order_acquire) != seen; });
    --sleepers;
  }

  void work(int thread) {
    for (u64 seen = 0;; ++seen) {
      wait_for(seen);
      if (stop.load(std::memory_order_acquire)) return;
      piece(thread);
      running.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void publish() {
    std::lock_guard lock(mutex);
    generation.fetch_add(1, std::memory_order_acq_rel);
    if (sleepers > 0) wake.notify_all();
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  state_->threads = threads < 1 ? 1 : threads;
  for (int i = 1; i < state_->threads; ++i) {
    state_->workers.emplace_back([state = state_.get(), i] { state->work(i); });
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_release);
  state_->publish();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::size() const { return state_->threads; }

void ThreadPool::run(Task task, s64 count) noexcept {
  State& s = *state_;
  if (s.threads == 1 || count <= 1) {
    if (count > 0) task.call(task.context, 0, count, 0);
    return;
  }
  s.task = task;
  s.count = count;
  s.running.store(s.threads - 1, std::memory_order_release);
  s.publish();
  s.piece(0);
  for (u32 spins = 0; s.running.load(std::memory_order_acquire) != 0; ++spins) {
    pause();
    // On an oversubscribed machine the last worker may be waiting for this very core: a yield costs a microsecond, not
    // yielding a time slice.
    if (spins % 256 == 255) std::this_thread::yield();
  }
}

}  // namespace octet
