// SPDX-License-Identifier: Apache-2.0
// An If whose condition is known becomes the nodes of the branch it takes: exporters choose by shapes this way. What the
// branch computes from sizes is then folded, which may decide the next If.
#include <iterator>
#include <unordered_map>

#include "ops/attributes/bodies.h"
#include "ops/registry.h"
#include "ops/shared/control_flow.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {

void fold_constants(Graph& graph, Rewrites& rewrites);

namespace {

class Inliner {
 public:
  Inliner(Graph& graph, const Node& node)
      : graph_(graph),
        node_(node),
        kept_(condition_of(graph.value(node.inputs[0]).constant)
                  ? attribute_of<&IfAttributes::then_branch>(node)
                  : attribute_of<&IfAttributes::else_branch>(node)),
        body_(*kept_) {}

  std::vector<Node> run() {
    for (size_t i = 0; i < body_.inputs.size(); ++i) outer_[body_.inputs[i]] = node_.inputs[1 + i];
    for (ValueId id = 0; id < body_.value_count(); ++id) {
      const Value& value = body_.value(id);
      if (value.constant) outer_[id] = graph_.add_constant(value.name, value.constant);
    }
    // What a node of the branch computes takes the name that the If gave it.
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      if (node_.outputs[i] != kNoValue) outer_.emplace(body_.outputs[i], node_.outputs[i]);
    }
    for (const Node& node : body_.nodes) nodes_.push_back(moved(node));
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      const ValueId id = node_.outputs[i];
      if (id != kNoValue && outer_.at(body_.outputs[i]) != id) hand_over(body_.outputs[i], id);
    }
    return std::move(nodes_);
  }

 private:
  ValueId outer(ValueId id) {
    if (id == kNoValue) return id;
    const auto [at, fresh] = outer_.emplace(id, kNoValue);
    if (fresh) at->second = graph_.add_value(body_.value(id).name, body_.value(id).type);
    return at->second;
  }

  Node moved(const Node& node) {
    Node copy = node;
    for (ValueId& id : copy.inputs) id = outer(id);
    for (ValueId& id : copy.outputs) id = outer(id);
    return copy;
  }

  // An input of the branch, or a value that is an output twice.
  void hand_over(ValueId inner, ValueId output) {
    Node copy = node_beside(node_, find_op("Identity"), graph_.value(output).name, {outer(inner)});
    copy.outputs = {output};
    nodes_.push_back(std::move(copy));
  }

  Graph& graph_;
  const Node& node_;
  GraphPtr kept_;
  const Graph& body_;
  std::unordered_map<ValueId, ValueId> outer_;  // of each value of the branch
  std::vector<Node> nodes_;
};

bool is_decided(const Graph& graph, const Node& node) {
  const Tensor* condition = is_op(node, "If") ? graph.constant_input(node, 0) : nullptr;
  return condition != nullptr && condition->dtype() == Dtype::boolean && condition->elements() == 1;
}

bool inline_once(Graph& graph, Rewrites& rewrites) {
  GraphEdit edit(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!is_decided(graph, node) || !rewrites.allow()) continue;
    edit.replace(n, Inliner(graph, node).run());
    changed = true;
  }
  edit.apply();
  return changed;
}

}  // namespace

void inline_if(Graph& graph, Rewrites& rewrites) {
  // One If may decide the next; each round looks at the whole graph, so a long chain keeps the rest of its Ifs.
  constexpr int kRounds = 64;
  constexpr size_t kMostVisits = 2'000'000;  // of nodes; the first rounds are always allowed
  constexpr int kAlways = 4;
  size_t visits = 0;
  for (int round = 0; round < kRounds && inline_once(graph, rewrites); ++round) {
    visits += graph.nodes.size();
    if (round >= kAlways && visits > kMostVisits) break;
    remove_dead_nodes(graph);
    fold_constants(graph, rewrites);
  }
}

}  // namespace octet
