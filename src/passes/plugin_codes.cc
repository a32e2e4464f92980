// SPDX-License-Identifier: Apache-2.0
// Q -> plugin -> DQ: the model itself gives an operator of a plugin codes. The node gets their parameters, of the QuantizeLinear before
// and of the DequantizeLinear behind it, so that it computes the same wherever it is evaluated. Q and DQ stay.
#include <algorithm>

#include "core/check.h"
#include "graph/node_types.h"
#include "ops/quantized/epilogue.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"
#include "plugin/codes.h"
#include "plugin/evaluate.h"
#include "plugin/plugin_op.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

bool takes_codes(const Graph& graph, const Node& node) {
  const PluginOp* op = plugin_of(node);
  if (op == nullptr || is_plugin_codes(node) || op->declaration.commutes()) return false;
  return codes_combination(node, types_of(graph, node.inputs)) != nullptr;
}

class Annotator {
 public:
  Annotator(Graph& graph, const Uses& uses, Node& node)
      : graph_(graph), uses_(uses), node_(node), declaration_(plugin_of(node)->declaration) {}

  void run() {
    const PluginCombination& c = *codes_combination(node_, types_of(graph_, node_.inputs));
    CodesForm form;
    for (size_t i = 0; i < node_.inputs.size(); ++i) form.inputs.push_back(input(c, i));
    for (size_t i = 0; i < node_.outputs.size(); ++i) form.outputs.push_back(output(c, i));
    node_.op = &plugin_of(node_)->codes;
    write_codes(node_, form);
    node_.decision = {Precision::int8, ReasonCode::qdq_in_model, "the model gives it codes"};
  }

 private:
  PortCodes input(const PluginCombination& c, size_t i) const {
    PortCodes port;
    if (node_.inputs[i] == kNoValue) return port;
    port.format = c.inputs[Declaration::port_of(declaration_.inputs, i)];
    port.stored = graph_.value(node_.inputs[i]).type.dtype;
    if (!port.format.is_codes()) return port;
    const Node* quantize = producer_of(graph_, uses_, node_.inputs[i]);
    if (quantize != nullptr && is_quantize(*quantize))
      return with_params(port, *quantize, i, "input", declaration_.input(i).name);
    for (u32 reader : uses_.consumers(node_.inputs[i])) {
      const Node& other = graph_.nodes[reader];
      if (is_dequantize(other) && other.inputs[0] == node_.inputs[i])
        return with_params(port, other, i, "input", declaration_.input(i).name);
    }
    lacks_scale("input", declaration_.input(i).name, i, "a QuantizeLinear before it");
  }

  PortCodes output(const PluginCombination& c, size_t i) const {
    PortCodes port;
    port.format = c.outputs[Declaration::port_of(declaration_.outputs, i)];
    port.stored = node_.outputs[i] == kNoValue ? *dtype_of(port.format.type)
                                               : graph_.value(node_.outputs[i]).type.dtype;
    if (!port.format.is_codes()) return port;
    if (node_.outputs[i] == kNoValue) {  // nobody reads it: any parameters will do
      port.scales = {1.0f};
      return port;
    }
    for (u32 reader : uses_.consumers(node_.outputs[i])) {
      const Node& other = graph_.nodes[reader];
      if (is_dequantize(other) && other.inputs[0] == node_.outputs[i])
        return with_params(port, other, i, "output", declaration_.output(i).name);
    }
    lacks_scale("output", declaration_.output(i).name, i, "a DequantizeLinear behind it");
  }

  PortCodes with_params(PortCodes port, const Node& qdq, size_t i, const char* side,
                        const std::string& name) const {
    const Tensor* scale = graph_.constant_input(qdq, 1);
    const auto type = code_type(graph_, qdq);
    const auto channels = is_quantize(qdq) ? channel_codes(graph_, qdq) : std::nullopt;
    const bool per_channel = port.format.params == OCTET_PARAMS_PER_CHANNEL;
    if (type && !per_channel) {
      port.scales = {type->params.scale};
      port.zero_point = type->params.zero_point;
    } else if (channels && per_channel) {
      port.scales = channels->scales;
      port.zero_point = channels->zero_point;
    } else {
      fail(kInvalid, "{} {} '{}' of {} has {} scales; '{}' declares {}", side, i, name,
           describe(node_), scale == nullptr ? 0 : scale->elements(), declaration_.full_name(),
           to_string(port.format));
    }
    return port;
  }

  [[noreturn]] void lacks_scale(const char* side, const std::string& name, size_t i,
                                const char* missing) const {
    fail(kInvalid,
         "{} {} '{}' of {} is codes without a scale: the model has not {}. Q -> {} -> DQ gives the "
         "plugin codes, Q -> DQ -> {} gives it reals",
         side, i, name, describe(node_), missing, declaration_.name, declaration_.name);
  }

  Graph& graph_;
  const Uses& uses_;
  Node& node_;
  const Declaration& declaration_;
};

}  // namespace

void plugin_codes(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& node : graph.nodes) {
    if (!takes_codes(graph, node)) continue;
    if (!rewrites.allow()) return;
    Annotator(graph, uses, node).run();
  }
}

}  // namespace octet
