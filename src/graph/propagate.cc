// SPDX-License-Identifier: Apache-2.0
#include "graph/propagate.h"

#include <algorithm>

#include "core/check.h"
#include "graph/op_def.h"

namespace octet {
namespace {

// Their result depends on the type of the input, not on its data.
bool reads_only_type(const OpDef& op) { return op.name == "Shape" || op.name == "Size"; }

class Propagator {
 public:
  Propagator(const Graph& graph, const PropagateOptions& options)
      : graph_(graph), options_(options) {
    result_.types.resize(graph.value_count());
    result_.known.resize(graph.value_count());
  }

  Propagated run(std::span<const Shape> input_shapes) {
    OCTET_CHECK(input_shapes.size() == graph_.inputs.size());
    for (size_t i = 0; i < input_shapes.size(); ++i) {
      const ValueId id = graph_.inputs[i];
      result_.types[id] = {graph_.value(id).type.dtype, input_shapes[i]};
    }
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      if (!graph_.is_constant(id)) continue;
      result_.types[id] = graph_.value(id).type;
      result_.known[id] = graph_.value(id).constant;
    }
    for (const Node& node : graph_.nodes) visit(node);
    return std::move(result_);
  }

 private:
  void visit(const Node& node) {
    std::vector<TensorType> types;
    std::vector<const Tensor*> values;
    bool all_known = true;
    for (ValueId id : node.inputs) {
      types.push_back(id == kNoValue ? TensorType{} : result_.types[id]);
      const bool known = id != kNoValue && result_.known[id];
      values.push_back(known ? &result_.known[id] : nullptr);
      all_known = all_known && (known || id == kNoValue);
    }
    const std::vector<TensorType> outputs = infer_node(node, std::move(types), values);
    s64 bytes = 0;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      result_.types[node.outputs[i]] = outputs[i];
      bytes = std::max(bytes, outputs[i].bytes());
    }
    if ((all_known || reads_only_type(*node.op)) && bytes <= options_.fold_bytes &&
        foldable(node)) {
      evaluate(node);
    }
  }

  bool foldable(const Node& node) const {
    const bool product = node.op->quant.kind == QuantKind::compute || node.op->domain == "octet";
    if (options_.keep_products && product) return false;
    return !(options_.keep_dequantize && node.op->name == "DequantizeLinear");
  }

  void evaluate(const Node& node) {
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) {
      if (id == kNoValue) {
        inputs.emplace_back();
      } else if (result_.known[id]) {
        inputs.push_back(result_.known[id]);
      } else {
        inputs.emplace_back(result_.types[id], nullptr);  // Shape and Size look at the type alone
      }
    }
    std::vector<Tensor> outputs = eval_node(node, inputs);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoValue) result_.known[node.outputs[i]] = std::move(outputs[i]);
    }
  }

  const Graph& graph_;
  const PropagateOptions& options_;
  Propagated result_;
};

}  // namespace

Propagated propagate(const Graph& graph, std::span<const Shape> input_shapes,
                     const PropagateOptions& options) {
  return Propagator(graph, options).run(input_shapes);
}

}  // namespace octet
