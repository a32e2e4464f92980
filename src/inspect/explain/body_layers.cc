// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/body_layers.h"

#include <algorithm>

#include "graph/bodies.h"
#include "graph/node_types.h"
#include "graph/op_traits.h"
#include "inspect/explain/layers.h"
#include "ops/shared/control_flow.h"

namespace octet {
namespace {

constexpr s64 kOtherSize = 8;

// A size for what only a run tells. False where not even the rank is known.
bool make_concrete(Shape& shape) {
  if (shape.is_unknown()) return false;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] < 0) shape[d] = d == 0 ? 1 : kOtherSize;
  }
  return true;
}

void add_prefix(const std::string& prefix, LayerInfo& layer) {
  layer.name = prefix + layer.name;
  for (std::string& name : layer.inputs) name = prefix + name;
  for (std::string& name : layer.outputs) name = prefix + name;
  for (ConstantInfo& constant : layer.constants) constant.name = prefix + constant.name;
}

class BodyLayers {
 public:
  BodyLayers(const Graph& body, const Target& target) : body_(body), target_(target) {}

  std::vector<LayerInfo> run(const std::vector<TensorType>& inputs) {
    std::vector<Shape> shapes;
    bool concrete = inputs.size() == body_.inputs.size();
    for (size_t i = 0; concrete && i < inputs.size(); ++i) {
      body_.value(body_.inputs[i]).type.dtype = inputs[i].dtype;
      shapes.push_back(inputs[i].shape);
      concrete = make_concrete(shapes.back());
    }
    if (!concrete) return unplanned("the sizes of what its body is given are not known");
    try {
      return planned(make_plan(body_, shapes, target_));
    } catch (const Error& error) {
      return unplanned(error.message());
    }
  }

 private:
  std::vector<LayerInfo> planned(const Plan& plan) const {
    std::vector<LayerInfo> layers;
    for (const PlanStep& step : plan.steps) {
      layers.push_back(layer_of(plan, step));
      if (step.node < plan.graph.nodes.size())
        add_body_layers(plan.graph, plan.graph.nodes[step.node], target_, layers);
    }
    return layers;
  }

  std::vector<LayerInfo> unplanned(const std::string& why) const {
    std::vector<LayerInfo> layers;
    for (const Node& node : body_.nodes) {
      layers.push_back(layer_outside_plans(body_, node, why));
      layers.back().kernel = "during the run";
      add_body_layers(body_, node, target_, layers);
    }
    return layers;
  }

  Graph body_;
  const Target& target_;
};

}  // namespace

void add_body_layers(const Graph& graph, const Node& node, const Target& target,
                     std::vector<LayerInfo>& layers) {
  if (!has_body(node)) return;
  layers.back().holds_layers = true;
  const std::vector<TensorType> inside =
      types_inside(node, types_of(graph, node.inputs), types_of(graph, node.outputs));
  for (const auto& [name, body] : bodies_of(node)) {
    const std::string prefix = fmt::format("{}.{}/", node.name, name);
    for (LayerInfo& layer : BodyLayers(*body, target).run(inside)) {
      add_prefix(prefix, layer);
      layers.push_back(std::move(layer));
    }
  }
}

int64_t constant_bytes_of(const Graph& graph) {
  int64_t bytes = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.is_constant(id)) bytes += static_cast<s64>(graph.value(id).constant.bytes());
  }
  for (const Node& node : graph.nodes) {
    for (const NamedBody& body : bodies_of(node)) bytes += constant_bytes_of(*body.graph);
  }
  return bytes;
}

}  // namespace octet
