// SPDX-License-Identifier: Apache-2.0
// An engine as this machine plans it, put into words.
#include "octet/inspect.h"

#include <algorithm>

#include "backends/backends.h"
#include "core/cpu_isa.h"
#include "graph/op_def.h"
#include "inspect/coverage.h"
#include "inspect/macs.h"
#include "plan/plan.h"
#include "runtime/model.h"
#include "runtime/staged.h"

namespace octet {
namespace {

std::vector<TensorType> types_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  for (const ValueId id : values) {
    types.push_back(id == kNoValue ? TensorType{} : graph.value(id).type);
  }
  return types;
}

// A step that falls back to the scalar reference says why each kernel refused; else only its own note.
std::string kernel_reason(const PlanStep& step) {
  std::string reason = step.note;
  if (step.kernel != "reference") return reason;
  for (const std::string& reject : step.rejects) reason += (reason.empty() ? "" : "; ") + reject;
  return reason;
}

void add_values(const Graph& graph, const std::vector<ValueId>& values,
                std::vector<std::string>& names, std::vector<TensorType>& types) {
  for (const ValueId id : values) {
    if (id == kNoValue || graph.is_constant(id)) continue;
    names.push_back(graph.value(id).name);
    types.push_back(graph.value(id).type);
  }
}

LayerInfo node_layer(const Graph& graph, const Node& node, const PlanStep& step) {
  LayerInfo layer;
  layer.name = node.name;
  layer.op = std::string(node.op->name);
  layer.precision = node.decision.precision;
  layer.reason = node.decision.reason;
  layer.kernel = step.kernel;
  layer.kernel_reason = kernel_reason(step);
  layer.nodes = node.origins;
  add_values(graph, node.inputs, layer.inputs, layer.input_types);
  add_values(graph, node.outputs, layer.outputs, layer.output_types);
  layer.macs = count_macs(node, types_of(graph, node.inputs), types_of(graph, node.outputs));
  for (const ValueId id : node.inputs) {
    if (graph.is_constant(id))
      layer.constant_bytes += static_cast<s64>(graph.value(id).constant.bytes());
  }
  return layer;
}

// A change of memory layout between two kernels; no node of the model.
LayerInfo reorder_layer(const Plan& plan, const PlanStep& step) {
  LayerInfo layer;
  layer.name = step.name;
  layer.op = "Reorder";
  layer.kernel = step.kernel;
  layer.reason = "its producer and its consumer want different memory layouts";
  layer.kernel_reason = step.note;
  for (const u32 buffer : step.outputs) {
    if (buffer == kNoBuffer) continue;
    const Value& value = plan.graph.value(plan.buffers[buffer].value);
    layer.precision = value.type.dtype == Dtype::f32 ? "f32" : "int8";
    layer.inputs.push_back(value.name);
    layer.input_types.push_back(value.type);
    layer.outputs.push_back(value.name);
    layer.output_types.push_back(value.type);
  }
  return layer;
}

void add_plan(const Plan& plan, Inspection& inspection) {
  inspection.arena_bytes = plan.arena_bytes;
  for (const PlanStep& step : plan.steps) {
    inspection.layers.push_back(step.node < plan.graph.nodes.size()
                                    ? node_layer(plan.graph, plan.graph.nodes[step.node], step)
                                    : reorder_layer(plan, step));
  }
}

// A node whose sizes depend on data; its types are as the compiler found them.
LayerInfo later_layer(const Graph& graph, const Node& node, const std::string& why, bool runs_now) {
  LayerInfo layer;
  layer.name = node.name;
  layer.op = std::string(node.op->name);
  layer.precision = node.decision.precision;
  layer.reason = node.decision.reason;
  layer.kernel = runs_now ? "reference" : "during the run";
  layer.kernel_reason = why;
  layer.nodes = node.origins;
  add_values(graph, node.inputs, layer.inputs, layer.input_types);
  add_values(graph, node.outputs, layer.outputs, layer.output_types);
  return layer;
}

// What can be planned without data, then every other node with the reason why it cannot.
void add_stages(const Graph& graph, const StageStart& start, const Target& target,
                Inspection& inspection) {
  const Stage stage = make_stage(graph, start);
  if (!stage.planned.outputs.empty()) {
    std::vector<Shape> shapes;
    for (ValueId id : stage.planned.inputs) shapes.push_back(stage.planned.value(id).type.shape);
    add_plan(make_plan(stage.planned, shapes, cpu_backend(), target), inspection);
  }
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    if (stage.reasons[n].empty()) continue;
    inspection.layers.push_back(
        later_layer(graph, graph.nodes[n], stage.reasons[n], stage.done[n]));
  }
}

s64 weight_bytes(const Graph& graph) {
  s64 bytes = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.is_constant(id)) bytes += static_cast<s64>(graph.value(id).constant.bytes());
  }
  return bytes;
}

}  // namespace

std::vector<Shape> sample_shapes(const Engine& engine) {
  constexpr s64 kImage = 224, kOther = 8;
  std::vector<Shape> shapes;
  for (const TensorInfo& input : engine.inputs()) {
    Shape shape = input.type.shape;
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] != Shape::kDynamic) continue;
      const bool image = shape.rank() == 4 && i >= 2;
      shape[i] = i == 0 ? 1 : (image ? kImage : kOther);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

Inspection inspect(const Engine& engine, const InspectOptions& options) {
  const Target target{detect_isa(), options.threads};
  const std::vector<Shape> shapes =
      options.input_shapes.empty() ? sample_shapes(engine) : options.input_shapes;
  Inspection inspection;
  inspection.weight_bytes = weight_bytes(engine.model().graph);
  inspection.isa = std::string(isa_name(target.isa));
  try {
    add_plan(make_plan(engine.model().graph, shapes, cpu_backend(), target), inspection);
  } catch (const NeedsData&) {
    add_stages(engine.model().graph, first_start(engine.model().graph, shapes), target, inspection);
  }
  inspection.coverage = coverage_of(inspection.layers);
  return inspection;
}

}  // namespace octet
