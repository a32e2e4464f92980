// SPDX-License-Identifier: Apache-2.0
// Work that a thread of the test device does in order, and not when it is given: after a moment, or only when somebody waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backends/host/queue.h"
#include "backends/test/memory.h"
#include "plan/offer.h"

namespace octet {

// A step of the CPU's, as the device runs it.
struct TestStep {
  std::string name;
  size_t inputs = 0, outputs = 0;  // pointers of StepArgs that it reads
  RunStep run;
};

class TestQueue final : public Queue {
 public:
  TestQueue(TestMemory& memory, std::shared_ptr<ThreadPool> pool, u32 seed);
  ~TestQueue() override;
  TestQueue(const TestQueue&) = delete;
  TestQueue& operator=(const TestQueue&) = delete;

  // The pointers are read now; what they point to, later.
  void run(std::shared_ptr<const TestStep> step, const StepArgs& args);
  void copy(std::byte* to, const std::byte* from, s64 bytes) override;
  std::unique_ptr<Event> make_event() override;
  void record(Event& event) override;
  // Streams are queues of such devices.
  void begin_after(void* stream) override;
  void end_before(void* stream) override;
  void synchronize() override;

 private:
  friend struct TestEvent;
  using Work = std::function<void()>;

  std::byte* of_device(std::byte* address);
  std::byte* of_either(std::byte* address);
  void push(Work work);
  void work_off();
  bool hesitate();
  void wait_until(u64 ticket);
  void do_safely(const Work& work);

  TestMemory& memory_;
  HostQueue host_;  // of its own thread
  std::mt19937 random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  u64 given_ = 0, done_ = 0;
  int waiters_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;  // the first since it was last thrown; work after it is not done
  std::thread thread_;
};

}  // namespace octet
