// SPDX-License-Identifier: Apache-2.0
#include "inspect/layers.h"

#include "graph/node_types.h"
#include "graph/op_traits.h"
#include "inspect/code_scales.h"

namespace octet {
namespace {

// A step that falls back to the scalar reference says why each kernel refused; else only its own note.
std::string kernel_reason(const PlanStep& step) {
  std::string reason = step.note;
  if (step.kernel != "reference") return reason;
  for (const std::string& reject : step.rejects) reason += (reason.empty() ? "" : "; ") + reject;
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
  layer.constants = constants_of(graph, node);
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

LayerInfo node_layer(const Graph& graph, const Node& node, const PlanStep& step) {
  LayerInfo layer;
  layer.name = node.name;
  layer.op = std::string(node.op->name);
  layer.precision = node.decision.precision;
  layer.reason_code = node.decision.code;
  layer.reason = node.decision.reason;
  layer.kernel = step.kernel;
  layer.kernel_reason = kernel_reason(step);
  layer.nodes = node.origins;
  add_tensors(graph, node, layer);
  layer.conversion = is_conversion(node);
  layer.macs = count_macs(node, types_of(graph, node.inputs), types_of(graph, node.outputs));
  for (const ValueId id : node.inputs) {
    if (graph.is_constant(id))
      layer.constant_bytes += static_cast<s64>(graph.value(id).constant.bytes());
  }
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
    layer.precision = value.type.dtype == Dtype::f32 ? Precision::f32 : Precision::int8;
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
  LayerInfo layer = step.node < plan.graph.nodes.size()
                        ? node_layer(plan.graph, plan.graph.nodes[step.node], step)
                        : move_layer(plan, step);
  layer.device = plan.devices[step.device]->name();
  layer.rejected = step.rejects;
  layer.choice = step.choice;
  layer.macs_per_cycle = step.candidate.macs_per_cycle;
  layer.signature = signature_of(plan, step);
  return layer;
}

LayerInfo layer_outside_plans(const Graph& graph, const Node& node, const std::string& why) {
  LayerInfo layer;
  layer.name = node.name;
  layer.op = std::string(node.op->name);
  layer.precision = node.decision.precision;
  layer.reason_code = node.decision.code;
  layer.reason = node.decision.reason;
  layer.kernel = "reference";
  layer.device = "cpu";
  layer.conversion = is_conversion(node);
  layer.kernel_reason = why;
  layer.nodes = node.origins;
  add_tensors(graph, node, layer);
  return layer;
}

}  // namespace octet
