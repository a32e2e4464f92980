// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/layers.h"

#include <fmt/format.h>

#include "graph/node_types.h"
#include "graph/op_traits.h"
#include "inspect/explain/code_scales.h"
#include "ops/shared/dtypes.h"
#include "plan/chain.h"

namespace octet {
namespace {

// A step that falls back to the scalar reference says why each kernel refused, one that another device left to the host why that did, and a
// chain what it is; others have only their own notes.
std::string kernel_reason(const Plan& plan, const PlanStep& step, const Node& node) {
  std::string reason = step.note;
  const auto add = [&](const std::string& more) { reason += (reason.empty() ? "" : "; ") + more; };
  const bool left = step.device == kHost && plan.devices.size() > 1;
  if (const ChainRule* rule = rule_of(node, plan.devices.back()->backend()))
    add(fmt::format("one kernel for {} layers ({})", chain_body(node).nodes.size(), rule->name));
  if (step.kernel == "reference") {
    for (const std::string& reject : step.rejects) add(reject);
  } else if (left && !step.rejects.empty()) {
    add(fmt::format("on the CPU: {}", step.rejects[0]));
  }
  return reason;
}

void add_values(const Graph& graph, const std::vector<ValueId>& values,
                std::vector<std::string>& names, std::vector<TensorType>& types,
                std::vector<CodeScale>& codes) {
  for (const ValueId id : values) {
    if (id == kNoValue || graph.is_constant(id)) continue;
    names.push_back(graph.value(id).name);
    types.push_back(graph.value(id).type);
    codes.push_back(code_scale(graph.value(id)));
  }
}

void add_tensors(const Graph& graph, const Node& node, LayerInfo& layer) {
  add_values(graph, node.inputs, layer.inputs, layer.input_types, layer.input_codes);
  add_values(graph, node.outputs, layer.outputs, layer.output_types, layer.output_codes);
  if (!is_chain(node)) {
    layer.constants = constants_of(graph, node);
    return;
  }
  for (const Node& part : chain_body(node).nodes) {
    for (ConstantInfo& constant : constants_of(chain_body(node), part))
      layer.constants.push_back(std::move(constant));
  }
}

s64 constant_bytes(const Graph& graph, const Node& node) {
  s64 bytes = 0;
  if (is_chain(node)) {
    for (const Node& part : chain_body(node).nodes) bytes += constant_bytes(chain_body(node), part);
    return bytes;
  }
  for (const ValueId id : node.inputs) {
    if (graph.is_constant(id)) bytes += static_cast<s64>(graph.value(id).constant.bytes());
  }
  return bytes;
}

// Between types of reals: it stands for no ONNX node.
bool rounds(const Node& node) {
  return node.decision.code == ReasonCode::boundary && node.origins.empty();
}

// A table that stands for no ONNX node turns the caller's s8 codes into u8 (plan/relabel.cc).
bool is_conversion(const Node& node) {
  return is_quantize(node) || is_dequantize(node) || rounds(node) ||
         (is_table(node) && node.origins.empty());
}

// What the node says, whatever runs it.
LayerInfo described(const Graph& graph, const Node& node) {
  LayerInfo layer;
  layer.name = node.name;
  layer.op = std::string(node.op->name);
  layer.precision = node.decision.precision;
  layer.reason_code = node.decision.code;
  layer.reason = node.decision.reason;
  layer.nodes = node.origins;
  add_tensors(graph, node, layer);
  layer.conversion = is_conversion(node);
  return layer;
}

LayerInfo node_layer(const Plan& plan, const PlanStep& step) {
  const Graph& graph = plan.graph;
  const Node& node = graph.nodes[step.node];
  LayerInfo layer = described(graph, node);
  layer.kernel = step.kernel;
  layer.kernel_reason = kernel_reason(plan, step, node);
  layer.macs = count_macs(node, types_of(graph, node.inputs), types_of(graph, node.outputs));
  layer.constant_bytes = constant_bytes(graph, node);
  return layer;
}

// A change of memory layout between two kernels, or a copy between two memories; no node of the model.
LayerInfo move_layer(const Plan& plan, const PlanStep& step) {
  const bool crossing = is_crossing(plan, step);
  LayerInfo layer;
  layer.name = step.name;
  layer.op = crossing ? "Copy" : "Reorder";
  layer.conversion = true;
  layer.kernel = step.kernel;
  layer.reason_code = ReasonCode::layout_change;
  layer.reason = crossing ? "its producer and its consumer run on different devices"
                          : "its producer and its consumer want different memory layouts";
  if (crossing) layer.crossing_bytes = plan.buffers[step.outputs[0]].bytes;
  layer.kernel_reason = step.note;
  for (const u32 buffer : step.outputs) {
    if (buffer == kNoBuffer) continue;
    const Value& value = plan.graph.value(plan.buffers[buffer].value);
    layer.precision = is_real(value.type.dtype) ? precision_of(value.type.dtype) : Precision::int8;
    layer.inputs.push_back(value.name);
    layer.input_types.push_back(value.type);
    layer.outputs.push_back(value.name);
    layer.output_types.push_back(value.type);
    layer.input_codes.push_back(code_scale(value));
    layer.output_codes.push_back(code_scale(value));
  }
  return layer;
}

}  // namespace

LayerInfo layer_of(const Plan& plan, const PlanStep& step) {
  LayerInfo layer =
      step.node < plan.graph.nodes.size() ? node_layer(plan, step) : move_layer(plan, step);
  layer.device = plan.devices[step.device]->name();
  layer.rejected = step.rejects;
  layer.choice = step.choice;
  layer.macs_per_cycle = step.candidate.macs_per_cycle;
  layer.signature = signature_of(plan, step);
  return layer;
}

LayerInfo layer_outside_plans(const Graph& graph, const Node& node, const std::string& why) {
  LayerInfo layer = described(graph, node);
  layer.kernel = "reference";
  layer.device = "cpu";
  layer.kernel_reason = why;
  return layer;
}

}  // namespace octet
