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

  // How many threads of other pools may help the caller's, the only one of its own, while the pool is open.
  struct Guests {
    int most;
  };

  explicit ThreadPool(int threads);
  explicit ThreadPool(Guests guests);  // closed
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Threads that take part at present.
  int size() const;

  // The same threads, for steps so short that nobody takes from another's piece: a call for each part of a piece costs something, too.
  std::shared_ptr<ThreadPool> with_whole_pieces() const;

  // For guests. The caller's thread opens the pool and closes it, both between steps; on return from close() all have left.
  void open() noexcept;
  void close() noexcept;
  bool is_open() const noexcept;
  // The calling thread takes part in all steps until the pool is closed. False, at once, where it is closed or full.
  bool join() noexcept;

  // Calls body(begin, end, thread_index) for contiguous ranges that cover [0, count), and returns when all are done. Each thread
  // has a piece of [0, count), whose indices it takes in a few ranges, from the first on; a thread that is done takes from the
  // ends of what others have left. Where a call of `body` costs something of its own, no range has fewer than
  // `grain` indices, if the piece has as many. Allocates nothing; `body` must not throw.
  template <class F>
  void parallel_for(s64 count, const F& body, s64 grain = 1) noexcept {
    run({[](const void* context, s64 begin, s64 end, int thread) {
           (*static_cast<const F*>(context))(begin, end, thread);
         },
         &body},
        count, grain);
  }

 private:
  struct Task {
    void (*call)(const void*, s64, s64, int);
    const void* context;
  };
  struct State;
  explicit ThreadPool(std::shared_ptr<State> state);  // with whole pieces
  void run(Task task, s64 count, s64 grain) noexcept;
  std::shared_ptr<State> state_;
  bool whole_pieces_ = false;
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
