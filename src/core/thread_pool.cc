// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/check.h"

namespace octet {
namespace {

// 20 to 200 microseconds of polling, by the length of a pause, before a worker sleeps: longer than the gap between two steps.
constexpr int kSpins = 4000;

// So long a thread that is done leaves the pieces of the others to them.
constexpr u32 kPatience = 8;

// What different threads write lies in different lines.
constexpr size_t kLine = 128;  // processors fetch pairs of lines

void pause() { __builtin_ia32_pause(); }

}  // namespace

// Piece t of a step is thread t's, so that it finds what it wrote in the step before in its own core's cache. Still pieces are
// claimed: that of a worker that is not running (asleep, or its core taken by another process) falls to whoever is done with
// its own, and nobody waits for it. A claim raises the piece's mark from an older step's number to this one's: it succeeds only
// while this step has that piece unclaimed, so what was read of the step before the claim is of that step.
struct ThreadPool::State {
  static constexpr int kMaxThreads = 256;
  static constexpr int kPieceBits = 9;
  static constexpr u64 kPieceMask = (u64{1} << kPieceBits) - 1;

  struct alignas(kLine) Piece {
    std::atomic<u64> claimed{0};  // number of the last step whose piece was claimed
  };

  int threads = 1;
  std::vector<std::thread> workers;
  std::unique_ptr<Piece[]> claims;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<int> sleepers{0};             // changes under mutex
  alignas(kLine) std::atomic<u64> step{0};  // number, pieces
  std::atomic<bool> stop{false};
  std::atomic<void (*)(const void*, s64, s64, int)> call{nullptr};
  std::atomic<const void*> context{nullptr};
  std::atomic<s64> count{0};
  alignas(kLine) std::atomic<int> open{0};  // pieces that are not done

  static u64 number(u64 word) { return word >> kPieceBits; }

  // Runs this thread's piece of the current step, then those that nobody has begun; returns the number of that step.
  u64 help(int thread) {
    const u64 word = step.load(std::memory_order_acquire);
    const s64 pieces = static_cast<s64>(word & kPieceMask);
    for (s64 i = 0; i < pieces; ++i) try_piece(word, (thread + i) % pieces, thread);
    return number(word);
  }

  void try_piece(u64 word, s64 piece, int thread) {
    const auto body = call.load(std::memory_order_relaxed);
    const void* data = context.load(std::memory_order_relaxed);
    const s64 items = count.load(std::memory_order_relaxed);
    const s64 pieces = static_cast<s64>(word & kPieceMask);
    if (!claim(piece, number(word))) return;
    body(data, items * piece / pieces, items * (piece + 1) / pieces, thread);
    open.fetch_sub(1, std::memory_order_acq_rel);
  }

  bool claim(s64 piece, u64 of_step) {
    std::atomic<u64>& mark = claims[static_cast<size_t>(piece)].claimed;
    u64 last = mark.load(std::memory_order_relaxed);
    return last < of_step && mark.compare_exchange_strong(last, of_step, std::memory_order_acq_rel);
  }

  // The end counts as news: a worker that was late may have taken its number for that of the last step.
  bool has_news(u64 seen) const {
    return stop.load(std::memory_order_acquire) ||
           number(step.load(std::memory_order_seq_cst)) != seen;
  }

  void wait_for(u64 seen) {
    for (int i = 0; i < kSpins; ++i) {
      if (has_news(seen)) return;
      pause();
    }
    std::unique_lock lock(mutex);
    ++sleepers;
    wake.wait(lock, [&] { return has_news(seen); });
    --sleepers;
  }

  void work(int thread) {
    for (u64 seen = 0;;) {
      wait_for(seen);
      if (stop.load(std::memory_order_acquire)) return;
      seen = help(thread);
    }
  }

  void end() {
    stop.store(true, std::memory_order_release);
    publish(0);
    for (std::thread& worker : workers) worker.join();
  }

  // Either a worker that goes to sleep sees the new step, or its sleeping is seen here: both sides write first, then read.
  void publish(s64 pieces) {
    const u64 after = number(step.load(std::memory_order_relaxed)) + 1;
    step.store(after << kPieceBits | static_cast<u64>(pieces), std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) == 0) return;
    std::lock_guard lock(mutex);
    wake.notify_all();
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  state_->threads = std::clamp(threads, 1, State::kMaxThreads);
  state_->claims = std::make_unique<State::Piece[]>(static_cast<size_t>(state_->threads));
  state_->workers.reserve(static_cast<size_t>(state_->threads));
  try {
    for (int i = 1; i < state_->threads; ++i) {
      state_->workers.emplace_back([state = state_.get(), i] { state->work(i); });
    }
  } catch (const std::system_error& error) {
    state_->end();
    fail(Error::Code::out_of_memory, "cannot start {} threads: {}", state_->threads, error.what());
  } catch (...) {
    state_->end();
    throw;
  }
}

ThreadPool::~ThreadPool() { state_->end(); }

int ThreadPool::size() const { return state_->threads; }

void ThreadPool::run(Task task, s64 count) noexcept {
  State& s = *state_;
  if (s.threads == 1 || count <= 1) {
    if (count > 0) task.call(task.context, 0, count, 0);
    return;
  }
  s.call.store(task.call, std::memory_order_relaxed);
  s.context.store(task.context, std::memory_order_relaxed);
  s.count.store(count, std::memory_order_relaxed);
  const s64 pieces = std::min<s64>(count, s.threads);
  s.open.store(static_cast<int>(pieces), std::memory_order_release);
  s.publish(pieces);
  s.try_piece(s.step.load(std::memory_order_relaxed), 0, 0);
  for (u32 spins = 0; s.open.load(std::memory_order_acquire) != 0; ++spins) {
    // To look at a piece's mark takes its line from the core that will write it next: not while that one is about to end.
    if (spins == kPatience) s.help(0);
    pause();
    // On an oversubscribed machine the last worker may be waiting for this very core: a yield costs a microsecond, not
    // yielding a time slice.
    if (spins % 256 == 255) std::this_thread::yield();
  }
}

}  // namespace octet
