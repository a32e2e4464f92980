// SPDX-License-Identifier: Apache-2.0
#include "backends/test/queue.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/start_thread.h"
#include "octet/error.h"

namespace octet {

using Clock = std::chrono::steady_clock;

struct TestEvent final : Event {
  explicit TestEvent(TestQueue& owner) : queue(owner) {}

  void synchronize() override { queue.wait_until(ticket); }
  f64 microseconds_since(const Event& earlier) const override {
    return std::chrono::duration<f64, std::micro>(at - static_cast<const TestEvent&>(earlier).at)
        .count();
  }

  TestQueue& queue;
  u64 ticket = 0;  // of the work that sets `at`
  Clock::time_point at;
};

TestQueue::TestQueue(TestMemory& memory, std::shared_ptr<ThreadPool> pool, u32 seed)
    : memory_(memory),
      host_(std::move(pool)),
      random_(seed),
      thread_(start_thread([this] { work_off(); })) {}

TestQueue::~TestQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// A step sees nothing but its device's memory: what no copy brought there is an error.
std::byte* TestQueue::of_device(std::byte* address) {
  if (address == nullptr) return nullptr;
  std::byte* own = memory_.inside(address);
  OCTET_CHECK(own != nullptr);
  return own;
}

std::byte* TestQueue::of_either(std::byte* address) {
  std::byte* own = memory_.inside(address);
  return own != nullptr ? own : address;
}

void TestQueue::run(std::shared_ptr<const TestStep> step, const StepArgs& args) {
  std::vector<std::byte*> pointers;
  // Inputs are only read: the copies have one type for both directions.
  for (size_t i = 0; i < step->inputs; ++i)
    pointers.push_back(const_cast<std::byte*>(args.inputs[i]));
  for (size_t i = 0; i < step->outputs; ++i) pointers.push_back(args.outputs[i]);
  push([this, step = std::move(step), pointers = std::move(pointers),
        workspace = args.workspace]() mutable {
    try {
      for (std::byte*& pointer : pointers) pointer = of_device(pointer);
      step->run({pointers.data(), pointers.data() + step->inputs, of_device(workspace), host_});
    } catch (Error& error) {
      error.add_context("running " + step->name + " on the test device");
      throw;
    }
  });
}

void TestQueue::copy(std::byte* to, const std::byte* from, s64 bytes) {
  push([=, this] {
    std::memcpy(of_either(to), of_either(const_cast<std::byte*>(from)), static_cast<size_t>(bytes));
  });
}

std::unique_ptr<Event> TestQueue::make_event() { return std::make_unique<TestEvent>(*this); }

void TestQueue::record(Event& event) {
  auto& mark = static_cast<TestEvent&>(event);
  push([&mark] { mark.at = Clock::now(); });
  mark.ticket = given_;
}

void TestQueue::begin_after(void* stream) {
  if (stream == nullptr) return;  // it has no default stream
  push([&other = *static_cast<TestQueue*>(stream),
        ticket = static_cast<TestQueue*>(stream)->given_] { other.wait_until(ticket); });
}

void TestQueue::end_before(void* stream) {
  if (stream != nullptr) static_cast<TestQueue*>(stream)->begin_after(this);
}

void TestQueue::synchronize() { wait_until(given_); }

void TestQueue::push(Work work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    ++given_;
  }
  changed_.notify_all();
}

// `given_` changes only on the thread that waits here.
void TestQueue::wait_until(u64 ticket) {
  std::unique_lock lock(mutex_);
  ++waiters_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return done_ >= ticket; });
  --waiters_;
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

// Whether the next work waits until somebody waits for it.
bool TestQueue::hesitate() {
  const u32 choice = random_() % 16;
  if (choice > 3) return false;
  if (choice > 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 40));
  return choice == 0;
}

void TestQueue::work_off() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    lock.unlock();
    const bool late = hesitate();
    lock.lock();
    if (late) changed_.wait(lock, [&] { return stop_ || waiters_ > 0; });
    const Work work = std::move(waiting_.front());
    waiting_.pop_front();
    const bool healthy = error_ == nullptr;
    lock.unlock();
    if (healthy) do_safely(work);
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

void TestQueue::do_safely(const Work& work) {
  try {
    work();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
}

}  // namespace octet
