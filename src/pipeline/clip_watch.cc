// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>

#include "core/check.h"
#include "core/memory.h"
#include "core/start_thread.h"
#include "octet/clipping.h"

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr s64 kNever = std::numeric_limits<s64>::max();

s64 ticks_of(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

struct ClipWatch::Impl {
  Impl(const Engine& engine, ClipWatchOptions given)
      : options(std::move(given)), counter(engine), counted(counter.tensors()) {
    thread = start_thread([this] { work(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    thread.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stop || taken; });
      if (stop) return;
      const std::vector<Tensor> inputs = std::move(*taken);
      lock.unlock();
      const Clock::time_point start = Clock::now();
      const bool done = is_counted(inputs);
      const Clock::time_point end = Clock::now();
      lock.lock();
      ++(done ? runs : failures);
      taken.reset();
      const auto wait = static_cast<f64>(ticks_of(end - start)) * (1 / options.share - 1);
      next.store(ticks_of(end.time_since_epoch()) + static_cast<s64>(std::min(wait, 1e18)));
      changed.notify_all();
    }
  }

  // Whoever sent inputs that fail hears of it from the run that they were sent for.
  bool is_counted(const std::vector<Tensor>& inputs) {
    try {
      counter.add(inputs);
      std::vector<ClippedTensor> all = counter.tensors();
      if (options.counted) options.counted(all);
      const std::lock_guard lock(mutex);
      counted = std::move(all);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  bool offer(std::vector<Tensor>&& inputs) {
    const std::lock_guard lock(mutex);
    if (taken || stop) return false;
    taken = std::move(inputs);
    next.store(kNever);
    changed.notify_all();
    return true;
  }

  const ClipWatchOptions options;
  ClipCounter counter;        // the thread's, once something was offered
  std::atomic<s64> next = 0;  // when inputs are taken again, by the clock
  std::mutex mutex;           // of what follows
  std::condition_variable changed;
  bool stop = false;
  std::optional<std::vector<Tensor>> taken;
  std::vector<ClippedTensor> counted;
  s64 runs = 0, failures = 0;
  std::thread thread;
};

ClipWatch::ClipWatch(const Engine& engine, ClipWatchOptions options) {
  if (!(options.share > 0 && options.share <= 1)) {
    fail(Error::Code::invalid_argument,
         "share {} of a processor's time: expected more than 0 and at most 1", options.share);
  }
  impl_ = without_bad_alloc([&] { return std::make_unique<Impl>(engine, std::move(options)); });
}
ClipWatch::~ClipWatch() = default;

void ClipWatch::prepare(std::span<const Shape> input_shapes) {
  impl_->counter.prepare(input_shapes);
}

bool ClipWatch::wants() const {
  const s64 next = impl_->next.load();
  return next != kNever && ticks_of(Clock::now().time_since_epoch()) >= next;
}

bool ClipWatch::offer(std::vector<Tensor> inputs) {
  return wants() && without_bad_alloc([&] { return impl_->offer(std::move(inputs)); });
}

void ClipWatch::finish() {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [&] { return !impl_->taken; });
}

int64_t ClipWatch::runs() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->runs;
}

int64_t ClipWatch::failures() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->failures;
}

std::vector<ClippedTensor> ClipWatch::tensors() const {
  const std::lock_guard lock(impl_->mutex);
  return without_bad_alloc([&] { return impl_->counted; });
}

}  // namespace octet
