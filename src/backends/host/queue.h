// SPDX-License-Identifier: Apache-2.0
// The queue of the host: a step that is given to it has run when the call returns, on the threads of its pool.
#pragma once

#include <memory>
#include <utility>

#include "core/thread_pool.h"
#include "plan/device.h"
#include "plan/offer.h"

namespace octet {

class HostQueue final : public Queue {
 public:
  explicit HostQueue(int threads) : HostQueue(std::make_shared<ThreadPool>(threads)) {}
  explicit HostQueue(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  ThreadPool& pool() { return *pool_; }

  void copy(std::byte* to, const std::byte* from, s64 bytes) override;
  std::unique_ptr<Event> make_event() override;
  void record(Event& event) override;
  void synchronize() override {}

 private:
  std::shared_ptr<ThreadPool> pool_;
};

// The threads of a step of a backend whose steps run in a HostQueue.
inline ThreadPool& pool_of(const StepArgs& args) {
  return static_cast<HostQueue&>(args.queue).pool();
}

}  // namespace octet
