// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/pause.h"
#include "core/start_thread.h"

namespace octet {
namespace {

// 20 to 200 microseconds of polling, by the length of a pause, before a worker sleeps: longer than the gap between two steps.
constexpr int kSpins = 4000;

// So long a thread that is done leaves the pieces of the others to them: to look at a piece's mark takes its line from the core
// that will write it next.
constexpr u32 kPatience = 32;

// What different threads write lies in different lines.
constexpr size_t kLine = 128;  // processors fetch pairs of lines

}  // namespace

// Piece t of a step is thread t's, so that it finds what it wrote in the step before in its own core's cache. Still it falls into
// chunks that are claimed: the owner takes half of those that are left, and again, from the front; who is done with its own piece
// takes from the back half of what it finds. So nobody waits for a worker that is not running (asleep, or its core taken by
// another process), nor long for one whose core is slow, as that of a virtual machine is while its other half works for others.
// A claim raises the piece's mark, from an older step's number or within this one's: it succeeds only while this step has chunks
// of that piece unclaimed, so what was read of the step before the claim is of that step.
struct ThreadPool::State {
  static constexpr int kMaxThreads = 256;
  static constexpr int kPieceBits = 9;
  static constexpr u64 kPieceMask = (u64{1} << kPieceBits) - 1;
  static constexpr s64 kChunks = 4;  // of a piece, at most
  static constexpr int kSideBits = 4;
  static constexpr u64 kSideMask = (u64{1} << kSideBits) - 1;

  // Two lines: the one in which a thread claims its chunks stays in its core, the other goes to who waits for the end.
  struct Piece {
    // Number of the last step of which something was claimed; the first chunk that was not, and how many were not.
    alignas(kLine) std::atomic<u64> claimed{0};
    alignas(kLine) std::atomic<u64> done{0};  // chunks of all steps
  };

  struct Range {
    s64 begin, end;
  };

  enum class Side { front, back };

  static constexpr int kClosed = 1 << 30;

  int threads = 1;  // at most
  std::vector<std::thread> workers;
  std::unique_ptr<Piece[]> marks;
  // What each piece's `done` comes to at the end of the last step; the run's thread alone reads and writes it.
  std::vector<u64> given;
  std::mutex mutex;
  std::condition_variable wake;
  // What begins a step lies in one line, which all workers fetch at the same time.
  alignas(kLine) std::atomic<u64> step{0};  // number, pieces
  std::atomic<bool> stop{false};
  std::atomic<void (*)(const void*, s64, s64, int)> call{nullptr};
  std::atomic<const void*> context{nullptr};
  std::atomic<s64> count{0}, grain{1};
  alignas(kLine) std::atomic<int> guests{kClosed};  // that are in, and whether more may come
  alignas(kLine) std::atomic<int> sleepers{0};      // grows and shrinks under mutex
  alignas(kLine) std::mutex line;                   // of the runs that want the pool
  std::condition_variable turn_over;
  u64 last_ticket = 0, served = 0;

  State() = default;
  ~State() { end(); }

  void make_marks(int most) {
    threads = std::clamp(most, 1, kMaxThreads);
    marks = std::make_unique<Piece[]>(static_cast<size_t>(threads));
    given.resize(static_cast<size_t>(threads));
  }

  static u64 number(u64 word) { return word >> kPieceBits; }

  static s64 pieces_of(u64 word) { return static_cast<s64>(word & kPieceMask); }

  Piece& mark(s64 piece) { return marks[static_cast<size_t>(piece)]; }

  // Runs what nobody has begun, as long as the step lasts.
  void help(u64 word, int thread) {
    const s64 pieces = pieces_of(word);
    for (s64 i = 1; i <= pieces && !has_news(number(word)); ++i)
      run_chunks(word, (thread + i) % pieces, thread, Side::back);
  }

  static Range piece_of(s64 items, s64 piece, s64 pieces) {
    return {items * piece / pieces, items * (piece + 1) / pieces};
  }

  static s64 chunks_of(Range piece, s64 smallest) {
    return std::clamp<s64>((piece.end - piece.begin) / smallest, 1, kChunks);
  }

  void run_chunks(u64 word, s64 piece, int thread, Side side) {
    const auto body = call.load(std::memory_order_relaxed);
    const void* data = context.load(std::memory_order_relaxed);
    const s64 items = count.load(std::memory_order_relaxed);
    const s64 smallest = grain.load(std::memory_order_relaxed);
    const s64 pieces = pieces_of(word);
    if (piece >= pieces) return;
    // A claim is a barrier: what the step's thread has just written comes meanwhile.
    __builtin_prefetch(data);
    __builtin_prefetch(static_cast<const std::byte*>(data) + kLine / 2);
    const Range all = piece_of(items, piece, pieces);
    const s64 chunks = chunks_of(all, smallest), size = all.end - all.begin;
    u64 done = 0;
    for (;;) {
      const Range taken = claim(mark(piece).claimed, number(word), chunks, side);
      if (taken.begin == taken.end) break;
      body(data, all.begin + size * taken.begin / chunks, all.begin + size * taken.end / chunks,
           thread);
      done += static_cast<u64>(taken.end - taken.begin);
    }
    if (done > 0) mark(piece).done.fetch_add(done, std::memory_order_release);
  }

  // Half of the chunks that are left, at least one; none where there are none, or the step is over. `chunks` counts only while
  // nothing of the piece is claimed: a late thread may have it from the step after.
  static Range claim(std::atomic<u64>& mark, u64 of_step, s64 chunks, Side side) {
    for (u64 last = mark.load(std::memory_order_relaxed);;) {
      if (last >> (2 * kSideBits) > of_step) return {0, 0};
      const bool begun = last >> (2 * kSideBits) == of_step;
      const s64 front = begun ? static_cast<s64>(last >> kSideBits & kSideMask) : 0;
      const s64 left = begun ? static_cast<s64>(last & kSideMask) : chunks;
      if (left == 0) return {0, 0};
      const s64 mine = (left + 1) / 2, begin = side == Side::front ? front : front + left - mine;
      const u64 after = of_step << (2 * kSideBits) |
                        static_cast<u64>(side == Side::front ? front + mine : front) << kSideBits |
                        static_cast<u64>(left - mine);
      if (mark.compare_exchange_weak(last, after, std::memory_order_acq_rel,
                                     std::memory_order_relaxed))
        return {begin, begin + mine};
    }
  }

  // How many pieces a step of so many items has; from each as many chunks will be done.
  s64 expect(s64 items, s64 smallest, int present) {
    const s64 pieces = std::min<s64>(items, present);
    for (s64 i = 0; i < pieces; ++i) {
      const s64 chunks = chunks_of(piece_of(items, i, pieces), smallest);
      given[static_cast<size_t>(i)] += static_cast<u64>(chunks);
    }
    return pieces;
  }

  bool is_done(s64 piece) {
    return mark(piece).done.load(std::memory_order_acquire) == given[static_cast<size_t>(piece)];
  }

  // Until all pieces are done, the last of them perhaps by this thread.
  void wait_for_pieces(u64 word) {
    const s64 pieces = pieces_of(word);
    s64 at = 0;
    for (u32 spins = 0;; ++spins) {
      while (at < pieces && is_done(at)) ++at;
      if (at == pieces) return;
      if (spins == kPatience) help(word, 0);
      pause_spin();
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
      pause_spin();
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
      run_chunks(seen, thread, thread, Side::front);
    }
  }

  int present() const {
    if (!workers.empty()) return threads;
    return 1 + (guests.load(std::memory_order_acquire) & ~kClosed);
  }

  // The guest's number, from 1 on; 0 where there is no room. Guests leave only when the pool is closed, so numbers have no gaps.
  int admit() {
    for (int in = guests.load(std::memory_order_relaxed);;) {
      if ((in & kClosed) != 0 || in + 1 >= threads) return 0;
      if (guests.compare_exchange_weak(in, in + 1, std::memory_order_acq_rel)) return in + 1;
    }
  }

  // False when the pool is closed. A guest has work of its own to go back to and does not sleep.
  bool wait_as_guest(u64 seen, int guest) {
    for (u32 spins = 0;; ++spins) {
      if ((guests.load(std::memory_order_acquire) & kClosed) != 0) return false;
      if (number(step.load(std::memory_order_acquire)) != number(seen)) return true;
      if (spins == kPatience) help(seen, guest);
      pause_spin();
      if (spins % 256 == 255) std::this_thread::yield();
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

ThreadPool::ThreadPool(int threads) : state_(std::make_shared<State>()) {
  state_->make_marks(threads);
  state_->workers.reserve(static_cast<size_t>(state_->threads));
  // Where one cannot be started, the state's end sends the others home.
  const int others = state_->threads - 1;
  for (int i = 1; i <= others; ++i) {
    state_->workers.push_back(
        start_thread([state = state_.get(), i] { state->work(i); }, i - 1, others));
  }
}

ThreadPool::ThreadPool(Guests guests) : state_(std::make_shared<State>()) {
  state_->make_marks(guests.most + 1);
}

ThreadPool::ThreadPool(std::shared_ptr<State> state)
    : state_(std::move(state)), whole_pieces_(true) {}

std::shared_ptr<ThreadPool> ThreadPool::with_whole_pieces() const {
  return std::shared_ptr<ThreadPool>(new ThreadPool(state_));
}

int ThreadPool::size() const { return state_->present(); }

void ThreadPool::open() noexcept { state_->guests.store(0, std::memory_order_release); }

void ThreadPool::close() noexcept {
  state_->guests.fetch_or(State::kClosed, std::memory_order_acq_rel);
  for (u32 spins = 1; state_->guests.load(std::memory_order_acquire) != State::kClosed; ++spins) {
    pause_spin();
    if (spins % 256 == 0) std::this_thread::yield();
  }
}

bool ThreadPool::is_open() const noexcept {
  return (state_->guests.load(std::memory_order_acquire) & State::kClosed) == 0;
}

bool ThreadPool::join() noexcept {
  State& s = *state_;
  const int guest = s.admit();
  if (guest == 0) return false;
  for (u64 seen = 0; s.wait_as_guest(seen, guest);) {
    seen = s.step.load(std::memory_order_acquire);
    s.run_chunks(seen, guest, guest, State::Side::front);
  }
  s.guests.fetch_sub(1, std::memory_order_release);
  return true;
}

void ThreadPool::run(Task task, s64 count, s64 grain) noexcept {
  State& s = *state_;
  const int present = s.present();
  if (present == 1 || count <= 1) {
    if (count > 0) task.call(task.context, 0, count, 0);
    return;
  }
  const s64 smallest = whole_pieces_ ? count : std::max<s64>(grain, 1);
  s.call.store(task.call, std::memory_order_relaxed);
  s.context.store(task.context, std::memory_order_relaxed);
  s.count.store(count, std::memory_order_relaxed);
  s.grain.store(smallest, std::memory_order_relaxed);
  const u64 word = s.publish(s.expect(count, smallest, present));
  s.run_chunks(word, 0, 0, State::Side::front);
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
