// SPDX-License-Identifier: Apache-2.0
// Inside of a Context: the plans of the shapes it has seen.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "octet/engine.h"
#include "octet/plans.h"
#include "plan/plan.h"
#include "plan/prepared_store.h"
#include "runtime/body_runs.h"
#include "runtime/bound_plan.h"
#include "runtime/growing_runs.h"
#include "runtime/model.h"
#include "runtime/queues.h"
#include "runtime/staged.h"
#include "runtime/view_binding.h"

namespace octet {

struct Context::Impl {
  // Enough for the shapes of one service; the least recently used plan makes room.
  static constexpr size_t kMaxPlans = kPlansOfContext;

  Impl(std::shared_ptr<const Model> model, std::shared_ptr<PreparedStore> store,
       const ContextOptions& options);
  Impl(std::shared_ptr<const Model> model, std::shared_ptr<PreparedStore> store,
       const ContextOptions& options, const std::shared_ptr<ThreadPool>& pool);

  // Null for a model that runs in stages.
  BoundPlan* bound_plan(std::span<const Shape> shapes, const CallerMemory& memory);
  // Inputs and outputs all in the memory of "cpu" or of the context's device; throws Error for that of another.
  CallerMemory all_in(std::string_view memory) const;
  // For memory of the caller as the views say that are bound.
  BoundPlan* bound_plan(std::span<const Tensor> inputs);
  std::vector<Tensor> run(std::span<const Tensor> inputs, const RunOptions& options);
  void run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                const RunOptions& options);
  void execute(BoundPlan& bound, std::span<const Tensor> inputs, std::span<Tensor> outputs,
               const RunOptions& options);
  // The run over inputs of these types as one of many lengths, where it is that; throws Error for inputs that the model does not take.
  std::optional<GrowingRuns::Run> growing_run(std::span<const Tensor> inputs);
  // Runs over all rows of the caches' buffers where options say that they are such; false, and nothing done, where the plan would not take them.
  bool run_in_place(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                    const RunOptions& options);
  // Whether a run over inputs of these shapes is one of many lengths; then its plan is there.
  bool prepare_growing(std::span<const Shape> shapes, const CallerMemory& memory);
  // Throws Error(invalid_argument) for inputs that the model does not take.
  std::vector<Shape> shapes_of(std::span<const Tensor> inputs) const;
  std::vector<Tensor> run_staged(std::span<const Tensor> inputs);
  // What a run in stages needs beforehand: everything on the host, and the stream's work done.
  void bring_to_host(const RunOptions& options);
  // One run whose plans the observer executes, in stages or not.
  std::vector<Tensor> run_observed(std::span<const Tensor> inputs, const RunObserver& observer);
  void run_staged_into(std::span<const Tensor> inputs, std::span<Tensor> outputs);

  std::shared_ptr<const Model> model;
  std::shared_ptr<PreparedStore> store;  // the engine's
  Target target;
  Queues queues;
  std::list<BoundPlan> plans;  // most recently used first
  s64 plans_made = 0;          // these, and those that made room
  GrowingRuns growing;         // plans for many lengths of a decoder's caches
  bool grows = true;           // false: each length has a plan of its own (tests)
  // Made when shapes turn up whose plan would need data; from then on new shapes run in stages.
  std::optional<StagedRun> staged;
  std::vector<TensorType> staged_outputs;  // of the shapes prepared or run last
  bool last_was_staged = false;
  std::vector<TensorType>
      grown_outputs;  // of what was prepared or run last, where that has a plan for many lengths; else empty
  ViewBinding views;
  // Batches of rows that lie apart, where the plan takes them as one (rows.cc).
  std::vector<Tensor> joined_inputs, joined_outputs;
  BodyRuns bodies;  // of control flow
};

}  // namespace octet
