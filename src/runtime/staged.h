// SPDX-License-Identifier: Apache-2.0
// Models whose sizes depend on data (NonZero, Loop, a computed Reshape) run in stages. A stage plans every node whose
// types follow from what is known when it begins: the sizes of its inputs and the values that shapes are computed from.
// After its plan, the nodes whose result only the data can size run through the reference; the next stage knows more.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/plan.h"
#include "runtime/bound_plan.h"

namespace octet {

// How far a graph has been run. Values have the ids that they have in the graph.
struct StageStart {
  std::vector<bool> done;         // of each node
  std::vector<ValueId> live;      // computed values that are still read, and which a run holds
  std::vector<TensorType> types;  // of each live value
  std::vector<Tensor> known;      // of each live value that shapes follow from, else empty

  bool operator==(const StageStart& other) const;
};

struct Stage {
  Graph planned;                // for make_plan; its inputs and outputs are live values
  std::vector<u32> reference;   // nodes run after the plan, through the reference
  std::vector<ValueId> folded;  // values that the sizes alone tell, in `planned` as constants
  std::vector<ValueId> wanted;  // values that the next stage takes as known
  std::vector<bool> done;       // of each node, after this stage
  std::vector<ValueId> live;    // after this stage
  std::vector<std::string>
      reasons;  // of each node of the graph: why it is not planned; empty where it is or was
  std::vector<TensorType> outputs;  // of the graph, as far as they are known
};

// Where a run begins.
StageStart first_start(const Graph& graph, std::span<const Shape> input_shapes);
Stage make_stage(const Graph& graph, const StageStart& start);

// Who looks into a run: what takes the place of BoundPlan::run, and what is told of each node that the reference ran.
struct RunObserver {
  std::function<void(BoundPlan&, std::span<const Tensor>, std::span<Tensor>)> run_plan;
  std::function<void(const Node&, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     f64 microseconds)>
      after_node;
};

// The runs of one context: its stages, each planned once for the same start.
class StagedRun {
 public:
  StagedRun(const Graph& graph, const Target& target, Queues& queues, PreparedStore& store)
      : graph_(graph), target_(target), queues_(queues), store_(store) {}

  // Plans the first stage. The output types, as far as they are known before a run.
  std::vector<TensorType> prepare(std::span<const Shape> input_shapes);
  std::vector<Tensor> run(std::span<const Tensor> inputs, const RunObserver* observer = nullptr);

  size_t stage_count() const { return stages_.size(); }
  s64 plans_made() const { return plans_made_; }

 private:
  struct Planned {
    StageStart start;
    Stage stage;
    std::unique_ptr<BoundPlan> plan;  // null when there is nothing to plan
  };
  using Values = std::vector<Tensor>;  // by value id

  Planned& planned(StageStart start);
  void make_room();
  void run_plan(const Planned& planned, Values& values, const RunObserver* observer) const;
  void run_reference(const Stage& stage, Values& values, const RunObserver* observer) const;
  std::vector<Tensor> evaluated(const Node& node, std::span<const Tensor> inputs) const;
  const Tensor& value(const Values& values, ValueId id) const;

  const Graph& graph_;
  Target target_;
  Queues& queues_;
  PreparedStore& store_;
  std::list<Planned> stages_;  // most recently used first
  s64 plans_made_ = 0;
};

}  // namespace octet
