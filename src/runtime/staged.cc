// SPDX-License-Identifier: Apache-2.0
#include "runtime/staged.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "core/check.h"
#include "graph/eval_by.h"
#include "plugin/evaluate.h"
#include "plugin/plugin_op.h"

namespace octet {
namespace {

// Plans have arenas; packed weights they share. Of the stages that begin at one place in the graph so many are kept: as many
// plans as a context keeps, and more as long as they are small. The least recently used one makes room.
constexpr size_t kMinStagesOfOnePlace = 8;
constexpr size_t kMaxStagesOfOnePlace = 64;
constexpr s64 kSmallBytes = s64{64} << 20;  // of all stages of one place
constexpr size_t kMaxStages = 512;

std::vector<Shape> shapes_of(const Graph& graph) {
  std::vector<Shape> shapes;
  for (ValueId id : graph.inputs) shapes.push_back(graph.value(id).type.shape);
  return shapes;
}

bool is_complete(const StageStart& start) {
  return std::ranges::find(start.done, false) == start.done.end();
}

// What is live after a stage, as the next stage begins. Frees the other values.
StageStart next_start(const Stage& stage, const StageStart& start, std::vector<Tensor>& values) {
  StageStart next;
  next.done = stage.done;
  next.live = stage.live;
  std::unordered_set<ValueId> known(stage.folded.begin(), stage.folded.end());
  known.insert(stage.wanted.begin(), stage.wanted.end());
  for (size_t i = 0; i < start.live.size(); ++i) {
    if (start.known[i]) known.insert(start.live[i]);
  }
  std::vector<Tensor> kept(values.size());
  for (ValueId id : next.live) {
    kept[id] = std::move(values[id]);
    next.types.push_back(kept[id].type());
    next.known.push_back(known.contains(id) ? kept[id] : Tensor());
  }
  values = std::move(kept);
  return next;
}

}  // namespace

StagedRun::Planned& StagedRun::planned(StageStart start) {
  const auto at = std::ranges::find_if(stages_, [&](const Planned& p) { return p.start == start; });
  if (at != stages_.end()) {
    stages_.splice(stages_.begin(), stages_, at);
    return stages_.front();
  }
  Planned fresh;
  // A later run may write over the tensors that this one was given.
  for (Tensor& tensor : start.known) tensor = tensor ? tensor.clone() : tensor;
  fresh.stage = make_stage(graph_, start);
  fresh.start = std::move(start);
  Graph& planned = fresh.stage.planned;
  if (!planned.outputs.empty()) {
    fresh.plan = std::make_unique<BoundPlan>(make_plan(planned, shapes_of(planned), target_),
                                             queues_, store_);
    ++plans_made_;
  }
  stages_.push_front(std::move(fresh));
  make_room();
  return stages_.front();
}

void StagedRun::make_room() {
  size_t count = 0;
  s64 bytes = 0;
  std::erase_if(stages_, [&](const Planned& p) {
    if (p.start.done != stages_.front().start.done) return false;
    bytes += p.plan == nullptr ? 0 : p.plan->plan().arena_bytes();
    return ++count > (bytes > kSmallBytes ? kMinStagesOfOnePlace : kMaxStagesOfOnePlace);
  });
  if (stages_.size() > kMaxStages) stages_.pop_back();
}

const Tensor& StagedRun::value(const Values& values, ValueId id) const {
  return graph_.is_constant(id) ? graph_.value(id).constant : values[id];
}

void StagedRun::run_plan(const Planned& planned, Values& values,
                         const RunObserver* observer) const {
  const Graph& graph = planned.stage.planned;
  for (ValueId id : planned.stage.folded) values[id] = graph.value(id).constant;
  if (planned.plan == nullptr) return;
  std::vector<Tensor> inputs, outputs;
  for (ValueId id : graph.inputs) inputs.push_back(values[id]);
  for (const TensorType& type : planned.plan->plan().output_types)
    outputs.emplace_back(type.dtype, type.shape);
  if (observer != nullptr) {
    observer->run_plan(*planned.plan, inputs, outputs);
  } else {
    planned.plan->run(inputs, outputs);
  }
  for (size_t i = 0; i < outputs.size(); ++i) values[graph.outputs[i]] = std::move(outputs[i]);
}

// A plugin's node runs where it can: on the device, or on the threads of the run.
std::vector<Tensor> StagedRun::evaluated(const Node& node, std::span<const Tensor> inputs) const {
  if (plugin_of(node) == nullptr) return eval_node(node, inputs);
  const auto on_device = target_.device->backend().sized_plugin;
  return eval_node_by(node, inputs, kDefaultMaxBytes, [&](const Eval& eval) {
    if (on_device == nullptr || !on_device(eval, queues_.device()))
      eval_plugin_with(eval, &queues_.pool());
  });
}

void StagedRun::run_reference(const Stage& stage, Values& values,
                              const RunObserver* observer) const {
  using Clock = std::chrono::steady_clock;
  for (u32 n : stage.reference) {
    const Node& node = graph_.nodes[n];
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) inputs.push_back(id == kNoValue ? Tensor() : value(values, id));
    const auto start = Clock::now();
    std::vector<Tensor> outputs = evaluated(node, inputs);
    if (observer != nullptr) {
      const std::chrono::duration<f64, std::micro> spent = Clock::now() - start;
      observer->after_node(node, inputs, outputs, spent.count());
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoValue) values[node.outputs[i]] = std::move(outputs[i]);
    }
  }
}

std::vector<TensorType> StagedRun::prepare(std::span<const Shape> input_shapes) {
  return planned(first_start(graph_, input_shapes)).stage.outputs;
}

std::vector<Tensor> StagedRun::run(std::span<const Tensor> inputs, const RunObserver* observer) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  Values values(graph_.value_count());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph_.inputs[i]] = inputs[i];
  StageStart start = first_start(graph_, shapes);
  while (!is_complete(start)) {
    const Planned& stage = planned(start);
    run_plan(stage, values, observer);
    run_reference(stage.stage, values, observer);
    start = next_start(stage.stage, start, values);
  }
  const std::unordered_set<ValueId> given(graph_.inputs.begin(), graph_.inputs.end());
  std::vector<Tensor> outputs;
  for (ValueId id : graph_.outputs) {
    // The caller may write into what it gets, and owns what it gave.
    const bool shared = graph_.is_constant(id) || given.contains(id);
    outputs.push_back(shared ? value(values, id).clone() : value(values, id));
  }
  return outputs;
}

}  // namespace octet
