// SPDX-License-Identifier: Apache-2.0
// A plan with memory under it: what a run executes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "octet/tensor.h"
#include "plan/plan.h"
#include "runtime/queues.h"

namespace octet {

// Pointers of arena buffers are resolved once; those of the caller's tensors at each run.
class BoundPlan {
 public:
  // The queues are those of the plan's target, and live longer.
  BoundPlan(Plan plan, Queues& queues);
  BoundPlan(const BoundPlan&) = delete;
  BoundPlan& operator=(const BoundPlan&) = delete;

  const Plan& plan() const { return plan_; }
  // Calls visit(index of the step, its arguments, index of the group of images) for whatever there is to run, in order; the
  // visitor runs the step. On return all steps are done, also when the visitor throws.
  template <class F>
  void visit_steps(std::span<const Tensor> inputs, std::span<Tensor> outputs, const F& visit) {
    bind_caller(inputs, outputs);
    const Awaited awaited(queues_);
    for (const Run& run : runs_) {
      Place place(run);
      for (s64 group = 0; group < run.groups; ++group) {
        place.go_to(group);
        for (size_t s = run.first; s < run.end; ++s) visit(s, step_args(s), group);
      }
    }
    queues_.synchronize();
  }
  // Inputs and outputs must have the plan's types. Allocates nothing but what a reference step does for itself.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  // The same, with the time of each step in microseconds, by the clock of its queue, added to `step_us`.
  void run_timed(std::span<const Tensor> inputs, std::span<Tensor> outputs, std::span<f64> step_us);

 private:
  struct CallerPointer {
    std::byte** slot;
    bool is_output;
    u32 index;
  };

  // A pointer into the whole batch, which goes on by so many bytes with each group.
  struct MovingPointer {
    std::byte** slot;
    s64 bytes;
  };

  // Neighbouring steps that each group of images goes through together.
  struct Run {
    size_t first, end;  // steps
    s64 groups;
    std::vector<MovingPointer> moving;
  };

  std::byte* resolve(u32 buffer);
  void add_pointer(const PlanStep& step, u32 buffer, std::byte** slot);
  void bind_caller(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  StepArgs step_args(size_t step);
  void wait_for(PlanStep& copy, PlanStep& reader);

  // No step outlives the run that gave it to its queue, which reads the caller's memory and pointers that move.
  class Awaited {
   public:
    explicit Awaited(Queues& queues) : queues_(queues) {}
    ~Awaited();
    Awaited(const Awaited&) = delete;
    Awaited& operator=(const Awaited&) = delete;

   private:
    Queues& queues_;
  };

  // At which group of a run its pointers are: the first again at the end, also of one that an error cuts short.
  class Place {
   public:
    explicit Place(const Run& run) : run_(run) {}
    ~Place() { go_to(0); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    void go_to(s64 group) {
      for (const MovingPointer& p : run_.moving) *p.slot += (group - group_) * p.bytes;
      group_ = group;
    }

   private:
    const Run& run_;
    s64 group_ = 0;
  };

  Plan plan_;
  Queues& queues_;
  std::vector<std::shared_ptr<std::byte>> arenas_;  // of each device
  std::vector<std::unique_ptr<Event>> events_;      // of copies that the host waits for
  std::vector<std::byte*> pointers_;                // of each step: its inputs, then its outputs
  std::vector<size_t> first_pointer_;               // of each step
  std::vector<CallerPointer> caller_;
  std::vector<Run> runs_;  // all steps
};

}  // namespace octet
