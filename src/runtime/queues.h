// SPDX-License-Identifier: Apache-2.0
// The queues of one context: what its plans, one at a time, give their steps to.
#pragma once

#include <memory>

#include "core/thread_pool.h"
#include "plan/plan.h"

namespace octet {

class Queues {
 public:
  // The host's threads are those of `pool`, as many as the target says.
  Queues(const Target& target, std::shared_ptr<ThreadPool> pool);
  explicit Queues(const Target& target);

  ThreadPool& pool() { return *pool_; }

  Queue& of(const PlanStep& step) {
    if (step.device != kHost) return *device_;
    if (step.share.by_thread || step.sharing == Sharing::alone) return *alone_;
    return step.sharing == Sharing::pieces ? *pieces_ : *host_;
  }
  // Of the plan's last device.
  Queue& device() { return device_ != nullptr ? *device_ : *host_; }
  // Returns when every step is done; throws the first error of those that ran later than they were given.
  void synchronize() {
    if (device_ != nullptr) device_->synchronize();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  std::unique_ptr<Queue> host_;
  // The host's for steps that one thread runs: too short to be shared, or of images that are the thread's own.
  std::unique_ptr<Queue> alone_;
  std::unique_ptr<Queue> pieces_;  // the host's for steps whose pieces stay whole
  std::unique_ptr<Queue> device_;  // null where the host is the target's device
};

}  // namespace octet
