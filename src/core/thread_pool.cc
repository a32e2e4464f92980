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

// So long a thread that is done leaves the pieces of the others to them: to look at a piece's mark takes its line from the core
// that will write it next.
constexpr u32 kPatience = 32;

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

  // Two lines: the one in which a thread claims its piece stays in its core, the other goes to who waits for the end.
  struct Piece {
    alignas(kLine) std::atomic<u64> claimed{0};  // number of the last step whose piece was claimed
    alignas(kLine) std::atomic<u64> done{0};     // number of the last step whose piece is done
  };

  int threads = 1;
  std::vector<std::thread> workers;
  std::unique_ptr<Piece[]> marks;
  std::mutex mutex;
  std::condition_variable wake;
  // What begins a step lies in one line, which all workers fetch at the same time.
  alignas(kLine) std::atomic<u64> step{0};  // number, pieces
  std::atomic<bool> stop{false};
  std::atomic<void (*)(const void*, s64, s64, int)> call{nullptr};
  std::atomic<const void*> context{nullptr};
  std::atomic<s64> count{0};
  alignas(kLine) std::atomic<int> sleepers{0};  // grows and shrinks under mutex
  alignas(kLine) std::mutex line;               // of the runs that want the pool
  std::condition_variable turn_over;
  u64 last_ticket = 0, served = 0;

  static u64 number(u64 word) { return word >> kPieceBits; }

  static s64 pieces_of(u64 word) { return static_cast<s64>(word & kPieceMask); }

  Piece& mark(s64 piece) { return marks[static_cast<size_t>(piece)]; }

  // Runs those pieces of the step that nobody has begun.
  void help(u64 word, int thread) {
    const s64 pieces = pieces_of(word);
    for (s64 i = 1; i < pieces; ++i) try_piece(word, (thread + i) % pieces, thread);
  }

  void try_piece(u64 word, s64 piece, int thread) {
    const auto body = call.load(std::memory_order_relaxed);
    const void* data = context.load(std::memory_order_relaxed);
    const s64 items = count.load(std::memory_order_relaxed);
    const s64 pieces = pieces_of(word);
    if (piece >= pieces || !claim(piece, number(word))) return;
    body(data, items * piece / pieces, items * (piece + 1) / pieces, thread);
    mark(piece).done.store(number(word), std::memory_order_release);
  }

  bool claim(s64 piece, u64 of_step) {
    std::atomic<u64>& claimed = mark(piece).claimed;
    u64 last = claimed.load(std::memory_order_relaxed);
    return last < of_step &&
           claimed.compare_exchange_strong(last, of_step, std::memory_order_acq_rel);
  }

  // Until all pieces are done, the last of them perhaps by this thread.
  void wait_for_pieces(u64 word) {
    const s64 pieces = pieces_of(word);
    s64 at = 0;
    for (u32 spins = 0;; ++spins) {
      while (at < pieces && mark(at).done.load(std::memory_order_acquire) == number(word)) ++at;
      if (at == pieces) return;
      if (spins == kPatience) help(word, 0);
      pause();
      // On an oversubscribed machine the last worker may be waiting for this very core: a yield costs a microsecond, not
      // yielding a time slice.
      if (spins % 256 == 255) std::this_thread::yield();
    }
  }

  // The end counts as news: a worker that was late may have taken its number for that of the last step.
  bool has_news(u64 seen) const {
    return stop.load(std::memory_order_acquire) ||
           number(step.load(std::memory_order_acquire)) != seen;
  }

  // The step after the one that this thread has seen, or the end.
  void wait_for_news(u64 seen, int thread) {
    for (u32 spins = 0; spins < kSpins; ++spins) {
      if (has_news(number(seen))) return;
      if (spins == kPatience) help(seen, thread);
      pause();
    }
    std::unique_lock lock(mutex);
    sleepers.fetch_add(1, std::memory_order_acq_rel);
    wake.wait(lock, [&] { return has_news(number(seen)); });
    sleepers.fetch_sub(1, std::memory_order_acq_rel);
  }

  void work(int thread) {
    for (u64 seen = 0;;) {
      wait_for_news(seen, thread);
      if (stop.load(std::memory_order_acquire)) return;
      seen = step.load(std::memory_order_acquire);
      try_piece(seen, thread, thread);
    }
  }

  void end() {
    stop.store(true, std::memory_order_release);
    publish(0);
    for (std::thread& worker : workers) worker.join();
  }

  // Returns the step's word. Both sides change `sleepers`: whoever does so second sees what the first did before, so either the
  // worker that goes to sleep sees the step, or its sleeping is seen here. The stores that begin a step stay together: a locked
  // instruction among them would let the polling workers take the line away in between.
  u64 publish(s64 pieces) {
    const u64 after = number(step.load(std::memory_order_relaxed)) + 1;
    const u64 word = after << kPieceBits | static_cast<u64>(pieces);
    step.store(word, std::memory_order_release);
    if (sleepers.fetch_add(0, std::memory_order_acq_rel) == 0) return word;
    std::lock_guard lock(mutex);
    wake.notify_all();
    return word;
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  state_->threads = std::clamp(threads, 1, State::kMaxThreads);
  state_->marks = std::make_unique<State::Piece[]>(static_cast<size_t>(state_->threads));
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
  const u64 word = s.publish(std::min<s64>(count, s.threads));
  s.try_piece(word, 0, 0);
  s.wait_for_pieces(word);
}

ThreadPool::Turn::Turn(ThreadPool& pool) : state_(*pool.state_) {
  std::unique_lock lock(state_.line);
  const u64 ticket = state_.last_ticket++;
  state_.turn_over.wait(lock, [&] { return state_.served == ticket; });
}

ThreadPool::Turn::~Turn() {
  {
    std::lock_guard lock(state_.line);
    ++state_.served;
  }
  state_.turn_over.notify_all();
}

}  // namespace octet
