// SPDX-License-Identifier: Apache-2.0
#include "graph/interpret.h"

#include "core/check.h"
#include "graph/op_def.h"

namespace octet {
namespace {

bool accepts(const Shape& declared, const Shape& got) {
  if (declared.is_unknown()) return true;
  if (declared.rank() != got.rank()) return false;
  for (int i = 0; i < got.rank(); ++i) {
    if (declared[i] >= 0 && declared[i] != got[i]) return false;
  }
  return true;
}

void check_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    fail(Error::Code::invalid_argument, "the graph has {} inputs, {} are given",
         graph.inputs.size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    const bool any = value.type.shape.is_unknown();
    if (inputs[i] && (any || inputs[i].dtype() == value.type.dtype) &&
        accepts(value.type.shape, inputs[i].shape()))
      continue;
    fail(Error::Code::invalid_argument, "input '{}' is {}, given is {}", value.name,
         to_string(value.type), inputs[i] ? to_string(inputs[i].type()) : "nothing");
  }
}

class Interpreter {
 public:
  Interpreter(const Graph& graph, const ValueObserver& observe, s64 max_bytes)
      : graph_(graph),
        observe_(observe),
        max_bytes_(max_bytes),
        values_(graph.value_count()),
        readers_(graph.value_count(), 0) {
    for (const Node& node : graph.nodes) {
      for (ValueId id : node.inputs) {
        if (id != kNoValue) ++readers_[id];
      }
    }
    for (ValueId id : graph.outputs) ++readers_[id];
  }

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) define(graph_.inputs[i], inputs[i]);
    for (const Node& node : graph_.nodes) step(node);
    std::vector<Tensor> results;
    for (ValueId id : graph_.outputs) results.push_back(value(id));
    return results;
  }

 private:
  Tensor value(ValueId id) const {
    if (id == kNoValue) return {};
    return graph_.is_constant(id) ? graph_.value(id).constant : values_[id];
  }

  void define(ValueId id, const Tensor& tensor) {
    if (observe_) observe_(id, tensor);
    if (readers_[id] > 0) values_[id] = tensor;
  }

  void step(const Node& node) {
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) inputs.push_back(value(id));
    std::vector<Tensor> outputs = eval_node(node, inputs, max_bytes_);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoValue) define(node.outputs[i], outputs[i]);
    }
    for (ValueId id : node.inputs) {
      if (id != kNoValue && --readers_[id] == 0) values_[id] = {};
    }
  }

  const Graph& graph_;
  const ValueObserver& observe_;
  s64 max_bytes_;
  std::vector<Tensor> values_;
  std::vector<u32> readers_;
};

}  // namespace

std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> inputs,
                              const ValueObserver& observe, s64 max_bytes) {
  check_inputs(graph, inputs);
  return Interpreter(graph, observe, max_bytes).run(inputs);
}

}  // namespace octet
