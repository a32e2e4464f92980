// SPDX-License-Identifier: Apache-2.0
// The queues of one context: what its plans, one at a time, give their steps to.
#pragma once

#include <memory>

#include "plan/plan.h"

namespace octet {

class Queues {
 public:
  explicit Queues(const Target& target);

  Queue& of(const PlanStep& step) {
    if (step.device != kHost) return *device_;
    return step.alone ? *alone_ : *host_;
  }
  // Of the plan's last device.
  Queue& device() { return device_ != nullptr ? *device_ : *host_; }
  // Returns when every step is done; throws the first error of those that ran later than they were given.
  void synchronize() {
    if (device_ != nullptr) device_->synchronize();
  }

 private:
  std::unique_ptr<Queue> host_;
  std::unique_ptr<Queue> alone_;   // the host's for steps that are too short to be shared
  std::unique_ptr<Queue> device_;  // null where the host is the target's device
};

}  // namespace octet
