// SPDX-License-Identifier: Apache-2.0
// Nodes of a parsed model that name a registered creator: they become layers of plugins, as TensorRT's parser makes them.
#include <algorithm>
#include <set>

#include "octet/operators.h"
#include "octet/value_types.h"
#include "tensorrt/network/network.h"
#include "tensorrt/network/plugin_layer.h"
#include "tensorrt/plugins/attributes.h"
#include "tensorrt/plugins/fields.h"
#include "tensorrt/plugins/registry.h"

namespace octet_trt {
namespace {

bool is_octets(const OnnxNode& node) {
  static const auto* const names = [] {
    auto* all = new std::set<std::string>;
    for (const octet::OpSupport& op : octet::supported_operators())
      if (op.domain.empty()) all->insert(op.name);
    return all;
  }();
  const bool is_standard = node.domain.empty() || node.domain == "ai.onnx";
  return is_standard && names->contains(node.op);
}

const PluginFieldCollection* declared_fields(const PluginName& name, const FoundCreator& found) {
  return ask_plugin(name, "getFieldNames()", [&]() -> const PluginFieldCollection* {
    if (found.v2 != nullptr) return found.v2->getFieldNames();
#if NV_TENSORRT_MAJOR >= 10
    if (found.v3 != nullptr) return found.v3->getFieldNames();
    if (found.quick != nullptr) return found.quick->getFieldNames();
#endif
    return nullptr;
  });
}

// Which inputs of the node are shape inputs, of a plugin that can have some.
std::vector<bool> shape_inputs_of(const OnnxNode& node, const std::string& shown, bool is_v3,
                                  const Reporter& reporter) {
  std::vector<bool> are(node.inputs.size());
  const std::vector<int64_t> indices = integers_attribute(node, kShapeInputIndices);
  if (!is_v3 && !indices.empty()) {
    reporter.warn("node '" + shown + "': " + kShapeInputIndices +
                  " is for plugins of IPluginV3, and its plugin is none");
    return are;
  }
  const auto count = static_cast<int64_t>(are.size());
  for (const int64_t index : indices) {
    if (index < -count || index >= count) {
      refuse("node '" + shown + "': " + kShapeInputIndices + " names input " +
             std::to_string(index) + " of " + std::to_string(count));
    }
    are[static_cast<size_t>(index < 0 ? index + count : index)] = true;
  }
  return are;
}

}  // namespace

// The type is the operator's; version and namespace are attributes.
std::optional<PluginName> plugin_of_node(const OnnxNode& node) {
  if (is_octets(node)) return std::nullopt;
  if (creator_spaces_of(node.op).empty()) return std::nullopt;
  PluginName name{node.op, text_attribute(node, kPluginVersion, "1"),
                  text_attribute(node, kPluginNamespace, "")};
  if (find_creator(name)) return name;
  return std::nullopt;
}

// Inputs that the node leaves out at its end are none; between others nobody could tell a plugin of one that is not there.
Tensor* Network::plugin_input(const OnnxNode& node, const std::string& shown, size_t i,
                              const std::map<std::string, Tensor*>& known) {
  const std::string& name = node.inputs[i];
  const auto at = known.find(name);
  Tensor* input = at != known.end() ? at->second : parsed_weight(name);
  if (input != nullptr) return input;
  const auto rest = node.inputs.begin() + static_cast<int64_t>(i);
  const bool is_end = std::all_of(rest, node.inputs.end(), [](const auto& n) { return n.empty(); });
  if (is_end) return nullptr;
  refuse("node '" + shown + "': its input " + std::to_string(i) +
         (name.empty() ? " is left out, and others behind it are not"
                       : ", '" + name + "', is given by nothing before it"));
}

std::unique_ptr<LayerCore> Network::make_plugin_layer(const OnnxNode& node, const PluginName& name,
                                                      const std::string& shown,
                                                      const std::map<std::string, Tensor*>& known) {
  const FoundCreator found = find_creator(name);
  const std::vector<bool> are_shapes = shape_inputs_of(node, shown, found.is_v3(), reporter);
  std::vector<Tensor*> inputs, shapes;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (Tensor* input = plugin_input(node, shown, i, known); input != nullptr)
      (are_shapes[i] ? shapes : inputs).push_back(input);
  }
  const auto with_inputs = [&](auto layer) {
    layer->inputs = std::move(inputs);
    std::ranges::copy(shapes, std::back_inserter(layer->inputs));
    return layer;
  };
  const FieldStore fields = fields_of_node(node, shown, declared_fields(name, found), reporter);
  std::unique_ptr<PluginObject> object = create_plugin(name, shown, fields.collection());
  if (object->output_count() != static_cast<int32_t>(node.outputs.size())) {
    plugin_failed(name, "node '" + shown + "' has " + std::to_string(node.outputs.size()) +
                            " outputs, and getNbOutputs() returned " +
                            std::to_string(object->output_count()));
  }
#if NV_TENSORRT_MAJOR >= 10
  if (found.is_v3()) {
    auto layer = std::make_unique<PluginV3Layer>(*this, LayerType::kPLUGIN_V3, shown);
    layer->set(name, std::move(object), static_cast<int32_t>(shapes.size()));
    return with_inputs(std::move(layer));
  }
#endif
  auto layer = std::make_unique<PluginV2Layer>(*this, LayerType::kPLUGIN_V2, shown);
  layer->set(name, std::move(object));
  return with_inputs(std::move(layer));
}

// A weight of the parsed model that a plugin reads.
Tensor* Network::parsed_weight(const std::string& name) {
  const auto at = std::ranges::find(parsed_.initializer_names, name);
  if (at == parsed_.initializer_names.end()) return nullptr;
  const auto index = static_cast<size_t>(at - parsed_.initializer_names.begin());
  auto tensor = std::make_unique<Tensor>(*this, name);
  tensor->parsed_name = name;
  tensor->type = read_tensor(parsed_.initializers[index]).type;
  input_tensors_.push_back(std::move(tensor));
  return input_tensors_.back().get();
}

// Types of what is written so far, of a parsed model that may end anywhere.
void Network::take_types_of(ModelText& model, const std::vector<std::string>& wanted) {
  model.outputs.clear();
  for (const std::string& output : wanted)
    model.outputs.push_back(value_info(output, {octet::Dtype::f32, octet::Shape::unknown()}));
  const std::string bytes = model_bytes(model, "");
  std::map<std::string, octet::TensorType> types;
  for (const auto& info : octet::value_types(std::as_bytes(std::span(bytes)), parsed_folder_))
    types.emplace(info.name, info.type);
  for (const auto& layer : layers) {
    if (layer->plugin() != nullptr) continue;
    for (const auto& output : layer->outputs) {
      const auto found = types.find(output->parsed_name);
      if (found != types.end()) output->type = found->second;
    }
  }
}

void Network::take_plugin_types(LayerCore& layer, ModelText& model) {
  std::vector<std::string> before;
  for (const Tensor* input : layer.inputs)
    if (input->producer != nullptr) before.push_back(input->onnx_name());
  if (!before.empty()) take_types_of(model, before);
  infer_plugin(layer);
  for (const auto& output : layer.outputs)
    model.inputs.push_back(value_info(output->parsed_name, output->type));
}

std::string Network::model_before(const LayerCore& layer, const std::vector<Tensor*>& inputs) {
  ModelText model;
  model.initializers = parsed_.initializers;
  for (const Tensor* input : inputs_)
    model.inputs.push_back(value_info(input->onnx_name(), input->model_type()));
  const std::set<const LayerCore*> wanted = needed_by(inputs);
  std::string functions;
  for (const auto& before : layers) {
    if (before.get() == &layer) break;
    if (before->plugin() != nullptr) {
      for (const auto& output : before->outputs)
        model.inputs.push_back(value_info(output->onnx_name(), output->model_type()));
    } else if (before->parsed || wanted.contains(before.get())) {
      write_layer(*before, model, functions);
    }
  }
  std::vector<std::string> names;
  for (const Tensor* input : inputs) names.push_back(input->onnx_name());
  model.outputs.clear();
  hand_on(names, model);
  return model_bytes(model, functions);
}

// A plugin is asked as soon as the types of its inputs are known; for the rest of the model its outputs are inputs.
void Network::take_types() {
  ModelText model;
  model.initializers = parsed_.initializers;
  for (const Tensor* input : inputs_)
    if (!input->parsed_name.empty())
      model.inputs.push_back(value_info(input->parsed_name, input->type));
  std::string functions;
  for (const auto& layer : layers) {
    const bool is_plugin = layer->plugin() != nullptr && !layer->outputs[0]->parsed_name.empty();
    if (is_plugin) {
      take_plugin_types(*layer, model);
    } else if (layer->parsed) {
      write_layer(*layer, model, functions);
    } else {
      continue;
    }
    layer->inferred = true;
  }
  std::vector<std::string> made;
  for (const std::string& output : parsed_.outputs)
    if (!is_plugin_output(output)) made.push_back(output);
  if (!made.empty()) take_types_of(model, made);
}

bool Network::is_plugin_output(const std::string& name) const {
  return std::ranges::any_of(layers, [&](const auto& layer) {
    const auto gives = [&](const auto& output) { return output->parsed_name == name; };
    return layer->plugin() != nullptr && std::ranges::any_of(layer->outputs, gives);
  });
}

void Network::parsed_inputs_changed() { take_types(); }

}  // namespace octet_trt
