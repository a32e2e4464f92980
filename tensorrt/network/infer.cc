// SPDX-License-Identifier: Apache-2.0
// Sizes and types of what layers give: those of a model of the layer and what its sizes rest on.
#include <algorithm>
#include <map>
#include <set>

#include "integrations/wire/wire.h"
#include "octet/value_types.h"
#include "tensorrt/network/emission.h"
#include "tensorrt/network/network.h"
#include "tensorrt/network/plugin_layer.h"
#include "tensorrt/network/typed.h"

namespace octet_trt {

using octet_wire::WireWriter;

namespace {

// What a layer's sizes are inferred from beside itself: the layers that make integers, or all ahead of it.
enum class Ahead : uint8_t { integers, all };

// A layer with what its sizes depend on; other inputs of its are inputs of the model.
class Excerpt {
 public:
  explicit Excerpt(ModelText& model, Ahead ahead = Ahead::integers)
      : model_(model), ahead_(ahead) {}

  // The tensor as the model computes it, if it is integers; else as an input of the model.
  void need(Tensor& tensor) {
    const octet::TensorType type = tensor.model_type();
    // What bounds a loop gives other numbers in each round.
    const bool has_layer = tensor.producer != nullptr && !tensor.producer->parsed &&
                           tensor.producer->plugin() == nullptr &&
                           tensor.producer->boundary().scope == nullptr;
    const bool is_constant = has_layer && tensor.producer->kind() == LayerType::kCONSTANT &&
                             type.shape.is_static() && type.shape.elements() <= kFew;
    if (is_constant || (has_layer && (is_integer(type.dtype) || ahead_ == Ahead::all))) {
      add(*tensor.producer);
    } else if (inputs_.insert(&tensor).second) {
      model_.inputs.push_back(value_info(tensor.onnx_name(), type));
    }
  }

  void add(LayerCore& layer) {
    if (!done_.insert(&layer).second) return;
    // The second input of a recurrence comes behind it.
    const size_t count = layer.kind() == LayerType::kRECURRENCE ? 1 : layer.inputs.size();
    for (size_t i = 0; i < std::min(count, layer.inputs.size()); ++i)
      if (layer.inputs[i] != nullptr) need(*layer.inputs[i]);
    Emission emission(model_, layer);
    layer.emit(emission);
  }

 private:
  ModelText& model_;
  const Ahead ahead_;
  std::set<const LayerCore*> done_;
  std::set<const Tensor*> inputs_;
};

std::map<std::string, octet::TensorType> types_of(LayerCore& layer, Ahead ahead) {
  ModelText model;
  model.with_weights = false;
  Excerpt(model, ahead).add(layer);
  for (const auto& output : layer.outputs) model.outputs.push_back(only_name(output->onnx_name()));
  WireWriter whole;
  whole.bytes(7, bytes_of_graph(model, ""));
  const std::string bytes = head_of_own() + whole.text();
  std::map<std::string, octet::TensorType> types;
  for (const auto& info : octet::value_types(std::as_bytes(std::span(bytes))))
    types.emplace(info.name, info.type);
  return types;
}

// Open sizes of a layer's inputs are guessed each by itself, and two guesses may contradict each other where the network's inputs would not.
std::map<std::string, octet::TensorType> inferred_types(LayerCore& layer) {
  try {
    return types_of(layer, Ahead::integers);
  } catch (const octet::Error&) {
    const bool guessed = std::ranges::any_of(layer.inputs, [](const Tensor* tensor) {
      return tensor != nullptr && !tensor->type.shape.is_static();
    });
    if (!guessed) throw;
  }
  return types_of(layer, Ahead::all);
}

// A layer whose types are being inferred, and those that wait for them. What rests on itself would be asked without an end.
class Inferring {
 public:
  explicit Inferring(const LayerCore& layer) : layer_(layer), waiting_(innermost) {
    for (const Inferring* other = waiting_; other != nullptr; other = other->waiting_)
      if (&other->layer_ == &layer) refuse("layer '" + layer.name + "' reads what rests on it");
    innermost = this;  // last: what is thrown before runs no destructor
  }
  ~Inferring() { innermost = waiting_; }
  Inferring(const Inferring&) = delete;
  Inferring& operator=(const Inferring&) = delete;

 private:
  const LayerCore& layer_;
  const Inferring* const waiting_;
  static thread_local const Inferring* innermost;
};

thread_local const Inferring* Inferring::innermost = nullptr;

}  // namespace

void Network::infer(LayerCore& layer) {
  if (layer.inferred) return;
  const Inferring guard(layer);
  if (layer.parsed) return parsed_inputs_changed();
  if (layer.plugin() != nullptr) return infer_plugin(layer);
  const std::map<std::string, octet::TensorType> types = inferred_types(layer);
  for (const auto& output : layer.outputs) {
    const auto found = types.find(output->onnx_name());
    if (found != types.end()) output->type = found->second;
  }
  layer.inferred = true;
  if (is_strongly_typed()) carry_types(layer);
}

void Network::infer_plugin(LayerCore& layer) {
  PluginCore& plugin = *layer.plugin();
  plugin.infer(layer, numbers_of(layer, plugin.shape_inputs(layer)));
  layer.inferred = true;
}

std::vector<ShapeNumbers> Network::numbers_of(const LayerCore& layer,
                                              const std::vector<Tensor*>& inputs) {
  if (inputs.empty()) return {};
  std::vector<std::string> names;
  for (const Tensor* input : inputs) names.push_back(input->onnx_name());
  std::string bytes;
  if (has_parsed_) {
    bytes = model_before(layer, inputs);
  } else {
    ModelText model;
    model.with_weights = false;
    Excerpt excerpt(model);
    for (Tensor* input : inputs) excerpt.need(*input);
    hand_on(names, model);
    bytes = model_bytes(model, "");
  }
  return octet::value_integers(std::as_bytes(std::span(bytes)), names, parsed_folder_);
}

bool Network::is_shape_arithmetic(const LayerCore& layer) const {
  if (layer.kind() == LayerType::kSHAPE) return true;
  if (layer.kind() == LayerType::kCONSTANT) return true;
  if (layer.boundary().scope != nullptr) return false;
  return !layer.inputs.empty() && std::ranges::all_of(layer.inputs, [&](const Tensor* input) {
    return input != nullptr && input->producer != nullptr && is_shape_arithmetic(*input->producer);
  });
}

}  // namespace octet_trt
