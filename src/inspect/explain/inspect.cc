// SPDX-License-Identifier: Apache-2.0
// An engine as this machine plans it, put into words.
#include "octet/inspect.h"

#include <algorithm>

#include "backends/backends.h"
#include "inspect/explain/body_layers.h"
#include "inspect/explain/coverage.h"
#include "inspect/explain/layers.h"
#include "plan/plan.h"
#include "precision/constraints.h"
#include "runtime/inside.h"
#include "runtime/model.h"
#include "runtime/staged.h"

namespace octet {
namespace {

void add_plan(const Plan& plan, const Target& target, Inspection& inspection) {
  inspection.arena_bytes = plan.arena_bytes();
  for (const PlanStep& step : plan.steps) {
    inspection.layers.push_back(layer_of(plan, step));
    if (step.node < plan.graph.nodes.size())
      add_body_layers(plan.graph, plan.graph.nodes[step.node], target, inspection.layers);
  }
}

// What can be planned without data, then every other node with the reason why it cannot.
void add_stages(const Graph& graph, const StageStart& start, const Target& target,
                Inspection& inspection) {
  const Stage stage = make_stage(graph, start);
  if (!stage.planned.outputs.empty()) {
    std::vector<Shape> shapes;
    for (ValueId id : stage.planned.inputs) shapes.push_back(stage.planned.value(id).type.shape);
    add_plan(make_plan(stage.planned, shapes, target), target, inspection);
  }
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    if (stage.reasons[n].empty()) continue;
    LayerInfo layer = layer_outside_plans(graph, graph.nodes[n], stage.reasons[n]);
    if (!stage.done[n]) layer.kernel = "during the run";
    inspection.layers.push_back(std::move(layer));
    add_body_layers(graph, graph.nodes[n], target, inspection.layers);
  }
}

Target target_of(const InspectOptions& options) {
  Target target = make_target(options.device, options.threads, options.tuning);
  target.chains = options.chains;
  return target;
}

std::vector<Shape> shapes_of(const Engine& engine, const InspectOptions& options) {
  return options.input_shapes.empty() ? sample_shapes(engine) : options.input_shapes;
}

struct UsualSizes {
  s64 image;  // height and width
  s64 other;  // what is neither the batch nor an image's
};

std::vector<Shape> shapes_with(const Engine& engine, const UsualSizes& sizes) {
  std::vector<Shape> shapes;
  const std::vector<TensorInfo> inputs = engine.inputs();
  for (size_t n = 0; n < inputs.size(); ++n) {
    Shape shape = inputs[n].type.shape;
    const int sample = sample_axis(inputs, n);
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] != Shape::kDynamic) continue;
      const bool image = shape.rank() == 4 && i >= 2;
      shape[i] = i == 0 || i == sample ? 1 : (image ? sizes.image : sizes.other);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

bool takes_shapes(const Engine& engine, const std::vector<Shape>& shapes) {
  try {
    specialize(Inside::model(engine).graph, shapes);
  } catch (const NeedsData&) {
    return true;
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

std::vector<Shape> sample_shapes(const Engine& engine) {
  // The longer ones leave something of spectrograms and of sound, where convolutions make sequences short; the smaller images pass no
  // limit where each pixel attends to all.
  constexpr UsualSizes kSizes[] = {{224, 8}, {224, 160}, {224, 16000}, {64, 8}, {32, 8}};
  std::vector<std::vector<Shape>> tried;
  for (const UsualSizes& sizes : kSizes) {
    std::vector<Shape> shapes = shapes_with(engine, sizes);
    if (std::ranges::find(tried, shapes) != tried.end()) continue;
    if (takes_shapes(engine, shapes)) return shapes;
    tried.push_back(std::move(shapes));
  }
  return tried.front();
}

Inspection inspect(const Engine& engine, const InspectOptions& options) {
  const Target target = target_of(options);
  const std::vector<Shape> shapes = shapes_of(engine, options);
  Inspection inspection;
  inspection.weight_bytes = constant_bytes_of(Inside::model(engine).graph);
  inspection.isa = std::string(target.device->level());
  try {
    add_plan(make_plan(Inside::model(engine).graph, shapes, target), target, inspection);
  } catch (const NeedsData&) {
    add_stages(Inside::model(engine).graph, first_start(Inside::model(engine).graph, shapes),
               target, inspection);
  }
  inspection.coverage = coverage_of(inspection.layers);
  const Model& model = Inside::model(engine);
  inspection.nodes = node_precisions(model.graph, model.constraints.nodes);
  inspection.constraints = model.constraints.constraints;
  inspection.constraint_mode = model.constraints.mode;
  return inspection;
}

EngineMemory memory_of(const Engine& engine, const InspectOptions& options) {
  const Target target = target_of(options);
  const Graph& graph = Inside::model(engine).graph;
  const std::vector<Shape> shapes = shapes_of(engine, options);
  EngineMemory memory{.weight_bytes = constant_bytes_of(graph)};
  try {
    memory.arena_bytes = make_plan(graph, shapes, target).arena_bytes();
  } catch (const NeedsData&) {
    Inspection stages;
    add_stages(graph, first_start(graph, shapes), target, stages);
    memory.arena_bytes = stages.arena_bytes;
  }
  return memory;
}

}  // namespace octet
