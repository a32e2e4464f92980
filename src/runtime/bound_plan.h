// SPDX-License-Identifier: Apache-2.0
// A plan with memory under it: what a run executes.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "octet/tensor.h"
#include "plan/bind.h"
#include "plan/plan.h"
#include "runtime/queues.h"

namespace octet {

struct CallerTensor {
  bool is_output;
  size_t index;
};

// Pointers of arena buffers are resolved once; those of the caller's tensors at each run.
class BoundPlan {
 public:
  // The queues are those of the plan's target, and live longer; it is the caller's turn to use their pool. Throws Error where a
  // kernel cannot be prepared or there is no memory.
  BoundPlan(Plan plan, Queues& queues, PreparedStore& store);
  ~BoundPlan();
  BoundPlan(const BoundPlan&) = delete;
  BoundPlan& operator=(const BoundPlan&) = delete;

  const Plan& plan() const { return plan_; }
  // Calls visit(index of the step, its arguments, index of the group of images) for whatever there is to run, in order, one
  // group after another also where run() gives them to threads; the visitor runs the step. On return all steps are done, also
  // when the visitor throws.
  template <class F>
  void visit_steps(std::span<const Tensor> inputs, std::span<Tensor> outputs, const F& visit) {
    bind_caller(inputs, outputs);
    const Awaited awaited(queues_);
    for (size_t r = 0; r < runs_.size(); ++r) visit_groups(r, 0, {0, runs_[r].share.groups}, visit);
    queues_.synchronize();
  }
  // Executes one step; an Error from a vendor library or a reference names it.
  void run_step(size_t s, const StepArgs& args) const;
  // Until other devices have given what the step reads, as run_step() does before it.
  void await_inputs(size_t s) const;
  // Inputs and outputs must have the plan's types, and lie where the plan says (Plan::caller). Allocates nothing but what a reference
  // step does for itself.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  // How many rows of one of the caller's tensors its steps take at a time, which must lie side by side; 0: the whole batch.
  s64 rows_at_a_time(const CallerTensor& tensor) const;
  // From now on the rows of that tensor are there, until it is given none; what a run gets for it tells its type and first row.
  void place_rows(const CallerTensor& tensor, std::span<std::byte* const> rows);
  // The same for a plan that is the device's alone: returns when its queue has all steps.
  void give(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  // Whether all steps and all memory, the caller's too, are the device's.
  bool is_of_device() const;
  // The same, with the time of each step in microseconds, by the clock of its queue, added to `step_us`; of a step that threads
  // run at the same time, each for its images, a thread's mean time.
  void run_timed(std::span<const Tensor> inputs, std::span<Tensor> outputs, std::span<f64> step_us);

 private:
  struct CallerPointer {
    std::byte** slot;
    bool is_output;
    u32 index;
  };

  using Rows = std::span<std::byte* const>;

  // A pointer into the whole batch, which goes on by so many bytes with each group; where the caller's rows lie apart, to the first of the group.
  struct MovingPointer {
    std::byte** slot;
    s64 bytes;
    const Rows* rows = nullptr;  // of the caller's tensor
    s64 images = 0;              // of a group
  };

  // Neighbouring steps that each group of images goes through together.
  struct Run {
    size_t first, end;  // steps
    BatchShare share;
  };

  // What one thread's way through the steps needs of its own. Steps that threads share use the first.
  struct Lane {
    std::vector<std::byte*> pointers;  // of each step: its inputs, then its outputs
    std::vector<CallerPointer> caller;
    std::vector<std::vector<MovingPointer>> moving;  // of each run
    std::exception_ptr error;                        // of its last run, until all lanes have ended
    // Its thread, and those that are done with their own lanes and help.
    std::shared_ptr<ThreadPool> pool;
    std::unique_ptr<Queue> chunks, pieces;   // by PlanStep::sharing
    std::unique_ptr<std::atomic<s64>> left;  // steps of its groups that are not done
  };

  struct Groups {
    s64 begin, end;
  };

  void make_lane(s64 index);
  std::byte* resolve(u32 buffer, s64 lane);
  std::byte* constant_of(const PlanStep& step, size_t input) const;
  void add_input(const PlanStep& step, size_t input, s64 lane, std::byte** slot);
  void add_pointer(const PlanStep& step, u32 buffer, s64 lane, std::byte** slot);
  void bind_caller(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  Queue& queue_of(const PlanStep& step, s64 lane);
  StepArgs step_args(size_t step, s64 lane);
  s64 lanes_of(const Run& run) const;
  // Like visit_steps, on all threads where the plan says so: visitors of different groups may run at the same time.
  template <class F>
  void visit_in_lanes(std::span<const Tensor> inputs, std::span<Tensor> outputs, const F& visit);

  // Some groups through all steps of a run, one after another.
  template <class F>
  void visit_groups(size_t run, s64 lane, Groups groups, const F& visit) {
    Place place(lanes_[static_cast<size_t>(lane)].moving[run]);
    for (s64 group = groups.begin; group < groups.end; ++group) {
      place.go_to(group);
      for (size_t s = runs_[run].first; s < runs_[run].end; ++s)
        visit(s, step_args(s, lane), group);
    }
  }
  template <class F>
  void run_lane(size_t run, s64 lane, const F& visit);
  void help_others(s64 lanes);
  Lane* neediest(s64 lanes);
  Groups groups_of(const Run& run, s64 lane) const;
  void rethrow_first_error();
  void wait_for(size_t copy, size_t reader);  // steps
  void find_repeated();
  bool may_repeat(size_t step) const;
  void run_whole(const Run& run);

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
    explicit Place(const std::vector<MovingPointer>& moving) : moving_(moving) {}
    ~Place() { go_to(0); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    void go_to(s64 group) {
      for (const MovingPointer& p : moving_) {
        if (p.rows != nullptr && !p.rows->empty())
          *p.slot = (*p.rows)[static_cast<size_t>(group * p.images)];
        else
          *p.slot += (group - group_) * p.bytes;
      }
      group_ = group;
    }

   private:
    const std::vector<MovingPointer>& moving_;
    s64 group_ = 0;
  };

  // Steps of the reference in one run, and the step that takes most.
  void count_reference_work();

  Plan plan_;
  f64 reference_steps_ = 0;
  std::string slowest_;
  Queues& queues_;
  std::vector<RunStep> steps_;
  std::vector<Event*> awaited_;                        // of a step, or null
  std::vector<std::shared_ptr<std::byte>> arenas_;     // of each device
  std::vector<std::shared_ptr<std::byte>> constants_;  // of each buffer; null where it is none
  std::vector<std::unique_ptr<Event>> events_;         // of copies that the host waits for
  std::vector<size_t> first_pointer_;                  // of each step, in every lane
  std::vector<Run> runs_;                              // all steps
  // Neighbouring steps of a device's queue that touch nothing of the caller's: the same work in each run. By first step; `end` is
  // the step itself elsewhere.
  struct Repeated {
    size_t end = 0;
    std::unique_ptr<KeptWork> kept = nullptr;
  };
  std::vector<Repeated> repeated_;
  std::vector<Rows> input_rows_, output_rows_;  // of the caller's tensors; empty: they are dense
  std::vector<Lane> lanes_;
};

}  // namespace octet
