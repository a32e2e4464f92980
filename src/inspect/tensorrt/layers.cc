// SPDX-License-Identifier: Apache-2.0
#include "inspect/tensorrt/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/node_types.h"
#include "graph/op_traits.h"
#include "inspect/explain/layers.h"

namespace octet {
namespace {

bool holds_codes(const Value& value) {
  const Dtype dtype = value.type.dtype;
  return value.quant.has_value() && (dtype == Dtype::u8 || dtype == Dtype::s8);
}

// "conv1 + relu1"; element-wise layers are "PWN(a, b)".
std::string fused_name(const Node& node, const TensorRtKind& kind) {
  const bool pointwise = kind.type == "PointWiseV2";
  std::string name;
  for (const std::string& origin : node.origins)
    name += (name.empty() ? "" : (pointwise ? ", " : " + ")) + origin;
  if (name.empty()) name = node.name;
  return pointwise ? "PWN(" + name + ")" : name;
}

TensorRtNode with_types(const Graph& graph, const Node& node) {
  return {graph, node, types_of(graph, node.inputs), types_of(graph, node.outputs)};
}

class Namer {
 public:
  explicit Namer(const Plan& plan)
      : plan_(plan), layers_(plan.steps.size()), buffers_(plan.buffers.size()) {}

  std::vector<TensorRtLayer> run() {
    for (size_t s = 0; s < layers_.size(); ++s) describe(s);
    // Readers stand behind what they read, so they have their names by then.
    for (size_t s = layers_.size(); s-- > 0;) name_reformat(s);
    for (size_t s = 0; s < layers_.size(); ++s) name_buffers(s);
    for (size_t s = 0; s < layers_.size(); ++s) add_tensors(s);
    make_names_unique(layers_);
    return std::move(layers_);
  }

 private:
  const PlanStep& step(size_t s) const { return plan_.steps[s]; }
  const Node* node_of(size_t s) const {
    return step(s).node < plan_.graph.nodes.size() ? &plan_.graph.nodes[step(s).node] : nullptr;
  }
  const Value& value_of(u32 buffer) const { return plan_.graph.value(plan_.buffers[buffer].value); }

  // Output 0 is input 0, only in another shape.
  bool is_no_op(size_t s) const {
    if (node_of(s) == nullptr || !node_of(s)->op->traits->permutes || step(s).inputs.empty())
      return false;
    const u32 in = step(s).inputs[0], out = step(s).outputs[0];
    if (in == kNoBuffer || out == kNoBuffer) return false;
    const auto memory = [&](u32 b) {
      return plan_.buffers[b].same_as == kNoBuffer ? b : plan_.buffers[b].same_as;
    };
    return memory(in) == memory(out);
  }

  void describe(size_t s) {
    TensorRtLayer& layer = layers_[s];
    layer.info = layer_of(plan_, step(s));
    const Node* node = node_of(s);
    if (is_no_op(s)) {
      layer.kind = {"NoOp", nlohmann::ordered_json::object()};
    } else if (node != nullptr) {
      layer.kind = tensorrt_kind(with_types(plan_.graph, *node));
    } else if (step(s).inputs.empty()) {
      layer.kind = {"Constant", {{"ParameterType", "Constant"}}};
    } else {
      layer.kind = tensorrt_reformat(false);
    }
    const bool inserted = is_inserted(s);
    if (!inserted) layer.name = node == nullptr ? step(s).name : fused_name(*node, layer.kind);
  }

  // A reformat that stands for nothing in the model.
  bool is_inserted(size_t s) const {
    return layers_[s].kind.type == "Reformat" && layers_[s].info.nodes.empty();
  }

  void name_reformat(size_t s) {
    if (!is_inserted(s)) return;
    const u32 out = step(s).outputs[0];
    for (size_t reader = s + 1; reader < layers_.size(); ++reader) {
      const std::vector<u32>& inputs = step(reader).inputs;
      const auto at = std::ranges::find(inputs, out);
      if (out == kNoBuffer || at == inputs.end()) continue;
      const auto constants = std::count(inputs.begin(), at, kNoBuffer);
      set_reformat(
          s, fmt::format("Input Tensor {} to {}", at - inputs.begin() - constants, target(reader)));
      return;
    }
    set_reformat(s, fmt::format("Output Tensor 0 to {}", producer(s)));
  }

  // Of a chain of reformats, the layer behind them.
  const std::string& target(size_t reader) const {
    return is_inserted(reader) ? targets_.at(reader) : layers_[reader].name;
  }

  void set_reformat(size_t s, const std::string& where) {
    layers_[s].name = "Reformatting CopyNode for " + where;
    targets_[s] = where.substr(where.find(" to ") + 4);
    const u32 out = step(s).outputs[0];
    if (out != kNoBuffer && plan_.buffers[out].kind == Buffer::Kind::arena)
      buffers_[out] = "Reformatted " + where;
  }

  // The layer whose result a chain of reformats brings to the caller.
  std::string producer(size_t s) const {
    u32 in = step(s).inputs[0];
    for (size_t before = s; before-- > 0;) {
      const std::vector<u32>& outputs = step(before).outputs;
      if (std::ranges::find(outputs, in) == outputs.end()) continue;
      if (!is_inserted(before)) return layers_[before].name;
      in = step(before).inputs[0];
    }
    return step(s).name;
  }

  // A value whose final form is the caller's has that one's name no second time.
  void name_buffers(size_t s) {
    for (size_t i = 0; i < step(s).outputs.size(); ++i) {
      const u32 out = step(s).outputs[i];
      if (out == kNoBuffer || !buffers_[out].empty() || is_of_caller(out)) continue;
      const bool again = std::ranges::any_of(plan_.buffers, [&](const Buffer& other) {
        return other.is_of_caller() && other.value == plan_.buffers[out].value;
      });
      if (again)
        buffers_[out] = fmt::format("Reformatted Output Tensor {} to {}", i, layers_[s].name);
    }
  }

  bool is_of_caller(u32 b) const { return plan_.buffers[b].is_of_caller(); }

  TensorRtTensor tensor(u32 b) const {
    const Value& value = value_of(b);
    const Buffer& buffer = plan_.buffers[b];
    return {buffers_[b].empty() ? value.name : buffers_[b], value.type, buffer.placement.layout,
            holds_codes(value) && !is_of_caller(b),
            plan_.devices.size() > 1 && buffer.space == kHost};
  }

  void add_tensors(size_t s) {
    for (const u32 in : step(s).inputs) {
      if (in != kNoBuffer) layers_[s].inputs.push_back(tensor(in));
    }
    for (const u32 out : step(s).outputs) {
      if (out != kNoBuffer) layers_[s].outputs.push_back(tensor(out));
    }
  }

  const Plan& plan_;
  std::vector<TensorRtLayer> layers_;
  std::vector<std::string> buffers_;       // their names where those are not the values'
  std::map<size_t, std::string> targets_;  // of inserted reformats
};

}  // namespace

std::vector<TensorRtLayer> tensorrt_layers(const Plan& plan) { return Namer(plan).run(); }

TensorRtLayer tensorrt_layer(const Graph& graph, const Node& node, LayerInfo info) {
  TensorRtLayer layer;
  layer.kind = tensorrt_kind(with_types(graph, node));
  layer.name = fused_name(node, layer.kind);
  for (const ValueId id : node.inputs) {
    if (id == kNoValue || graph.is_constant(id)) continue;
    const Value& value = graph.value(id);
    layer.inputs.push_back({value.name, value.type, Layout::linear, holds_codes(value)});
  }
  for (const ValueId id : node.outputs) {
    if (id == kNoValue) continue;
    const Value& value = graph.value(id);
    layer.outputs.push_back({value.name, value.type, Layout::linear, holds_codes(value)});
  }
  layer.info = std::move(info);
  return layer;
}

void make_names_unique(std::span<TensorRtLayer> layers) {
  std::set<std::string> names;
  for (TensorRtLayer& layer : layers) {
    std::string name = layer.name;
    for (int again = 2; !names.insert(name).second; ++again)
      name = fmt::format("{}_{}", layer.name, again);
    layer.name = std::move(name);
  }
}

}  // namespace octet
