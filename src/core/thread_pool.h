// SPDX-License-Identifier: Apache-2.0
// Threads that run steps: workers that spin for a moment, then sleep, so that consecutive steps start in microseconds.
#pragma once

#include <memory>

#include "core/types.h"

namespace octet {

// One run at a time uses a pool; where contexts share one, a Turn makes the others wait. The calling thread takes part as
// index 0.
class ThreadPool {
 public:
  // While it lives the pool is this run's; runs that ask meanwhile get it in the order in which they came.
  class Turn;

  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Calls body(begin, end, thread_index) for contiguous pieces that cover [0, count), at most as many as threads, and
  // returns when all are done. Thread t runs piece t, and after it the pieces of threads that are late. Allocates nothing;
  // `body` must not throw.
  template <class F>
  void parallel_for(s64 count, const F& body) noexcept {
    run({[](const void* context, s64 begin, s64 end, int thread) {
           (*static_cast<const F*>(context))(begin, end, thread);
         },
         &body},
        count);
  }

 private:
  struct Task {
    void (*call)(const void*, s64, s64, int);
    const void* context;
  };
  struct State;
  void run(Task task, s64 count) noexcept;
  std::unique_ptr<State> state_;
};

class ThreadPool::Turn {
 public:
  explicit Turn(ThreadPool& pool);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  State& state_;
};

}  // namespace octet
