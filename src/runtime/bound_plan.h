// SPDX-License-Identifier: Apache-2.0
// A plan with memory under it: what a run executes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "octet/tensor.h"
#include "plan/plan.h"

namespace octet {

// Pointers of arena buffers are resolved once; those of the caller's tensors at each run.
class BoundPlan {
 public:
  explicit BoundPlan(Plan plan);
  BoundPlan(const BoundPlan&) = delete;
  BoundPlan& operator=(const BoundPlan&) = delete;

  const Plan& plan() const { return plan_; }
  // The two halves of run(), for whoever looks between steps: the caller's tensors once, then each step in order.
  void bind_caller(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  StepArgs step_args(size_t step, ThreadPool& pool);
  // Inputs and outputs must have the plan's types. Allocates nothing but what a reference step does for itself.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool& pool);
  // The same, with the wall time of each step in microseconds added to `step_us`.
  void run_timed(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool& pool,
                 std::span<f64> step_us);

 private:
  struct CallerPointer {
    std::byte** slot;
    bool is_output;
    u32 index;
  };

  std::byte* resolve(u32 buffer);

  Plan plan_;
  std::shared_ptr<std::byte> arena_;
  std::vector<std::byte*> pointers_;   // of each step: its inputs, then its outputs
  std::vector<size_t> first_pointer_;  // of each step
  std::vector<CallerPointer> caller_;
};

}  // namespace octet
