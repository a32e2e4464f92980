// SPDX-License-Identifier: Apache-2.0
// Plugins that take or give f16 or bf16 alone, in a graph of f32: Cast nodes around them, so that any device can run them.
#include <algorithm>

#include "graph/graph_edit.h"
#include "graph/node_types.h"
#include "graph/op_def.h"
#include "ops/attributes/codes.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "plugin/evaluate.h"

namespace octet {
namespace {

class HalvesAround {
 public:
  HalvesAround(Graph& graph, GraphEdit& edit, size_t at)
      : graph_(graph),
        edit_(edit),
        at_(at),
        form_(form_of(graph.nodes[at], types_of(graph, graph.nodes[at].inputs))) {}

  bool has_any() const {
    return std::ranges::any_of(form_.inputs, widened) ||
           std::ranges::any_of(form_.outputs, widened);
  }

  void run() {
    Node& node = graph_.nodes[at_];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (widened(form_.inputs[i])) node.inputs[i] = narrow(node.inputs[i], form_.inputs[i]);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue || !widened(form_.outputs[i])) continue;
      const ValueId own = twin(node.outputs[i], form_.outputs[i]);
      edit_.insert_after(at_, cast(own, node.outputs[i], Dtype::f32));
      node.outputs[i] = own;
    }
    if (is_plugin_codes(node)) write_codes(node, form_);
  }

 private:
  static bool widened(const PortCodes& port) { return is_widened(port.format, port.stored); }

  ValueId twin(ValueId id, PortCodes& port) {
    port.stored = *dtype_of(port.format.type);
    const Value& value = graph_.value(id);
    return graph_.add_value(value.name + ".half", {port.stored, Shape(value.type.shape)});
  }

  ValueId narrow(ValueId id, PortCodes& port) {
    if (graph_.is_constant(id)) {
      port.stored = *dtype_of(port.format.type);
      const Tensor real = graph_.value(id).constant;
      return graph_.add_constant(graph_.value(id).name + ".half",
                                 eval_node(cast(id, kNoValue, port.stored), {&real, 1})[0]);
    }
    const ValueId own = twin(id, port);
    edit_.insert_before(at_, cast(id, own, port.stored));
    return own;
  }

  Node cast(ValueId from, ValueId to, Dtype dtype) const {
    const std::string type(dtype_name(dtype));
    Node node = node_beside(graph_.nodes[at_], find_op("Cast"),
                            graph_.value(from).name + ".as_" + type, {from});
    node.outputs = {to};
    set_attribute<&CastAttributes::to>(node.attrs, dtype);
    node.decision = {Precision::f32, ReasonCode::float_input, "the plugin takes halves alone"};
    return node;
  }

  Graph& graph_;
  GraphEdit& edit_;
  size_t at_;
  CodesForm form_;
};

}  // namespace

void plugin_halves(Graph& graph, Rewrites& rewrites) {
  GraphEdit edit(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (plugin_of(graph.nodes[n]) == nullptr) continue;
    HalvesAround around(graph, edit, n);
    if (!around.has_any()) continue;
    if (!rewrites.allow()) break;
    around.run();
  }
  edit.apply();
}

}  // namespace octet
