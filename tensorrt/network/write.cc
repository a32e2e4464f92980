// SPDX-License-Identifier: Apache-2.0
// A network as the text of a model.
#include <algorithm>

#include "integrations/wire/wire.h"
#include "tensorrt/network/network.h"
#include "tensorrt/network/plugin_layer.h"
#include "tensorrt/network/scope.h"
#include "tensorrt/plugins/operator.h"
#include "tensorrt/shared/block_format.h"

namespace octet_trt {

using octet_wire::WireWriter;
namespace {

using octet::Dtype;

constexpr const char* kDomain = "octet.tensorrt";
constexpr int64_t kIrVersion = 9;

std::string opset_import(const std::string& domain, int64_t version) {
  WireWriter out;
  out.bytes(1, domain);
  out.integer(2, version);
  return out.take();
}

// As a field of the model.
std::string import_of(const std::string& domain) {
  WireWriter out;
  out.bytes(8, opset_import(domain, 1));
  return out.take();
}

// The names that nodes read and do not write.
std::vector<std::string> read_from_outside(const std::vector<OnnxNode>& nodes) {
  std::set<std::string> written;
  for (const OnnxNode& node : nodes) written.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string> outside;
  for (const OnnxNode& node : nodes) {
    for (const std::string& name : node.inputs) {
      const bool is_new = std::ranges::find(outside, name) == outside.end();
      if (!name.empty() && is_new && !written.contains(name)) outside.push_back(name);
    }
  }
  return outside;
}

// Layers beside a model of another opset become functions with an opset of their own.
OnnxNode call_of(const LayerCore& layer, const ModelText& text, std::string& functions) {
  OnnxNode call{layer.name, kDomain, layer.name, read_from_outside(text.nodes), {}, ""};
  for (const auto& output : layer.outputs) call.outputs.push_back(output->onnx_name());
  WireWriter function;
  function.bytes(1, call.op);
  for (const std::string& name : call.inputs) function.bytes(4, name);
  for (const std::string& name : call.outputs) function.bytes(5, name);
  for (const OnnxNode& node : text.nodes) function.bytes(7, to_wire(node));
  function.bytes(9, opset_import("", kOpset));
  function.bytes(10, kDomain);
  WireWriter field;
  field.bytes(25, function.text());
  functions += field.text();
  return call;
}

OnnxNode cast_node(const std::string& from, const std::string& to, Dtype type) {
  WireWriter attribute;
  attribute.bytes(5, to_wire(OnnxAttribute{"to", onnx_type_of(type)}));
  return {"Cast", "", to + "~cast", {from}, {to}, attribute.take()};
}

// INT8 at the border of a network that computes in floats there: the codes are made where the client's memory is read or written.
bool is_coded(const Tensor& tensor) {
  return tensor.getType() == DataType::kINT8 && tensor.model_type().dtype == Dtype::f32;
}

float code_scale(const Tensor& tensor) {
  if (!tensor.range) refuse("'" + tensor.name + "' is to be INT8 and has no dynamic range");
  return std::max(std::abs(tensor.range->min), std::abs(tensor.range->max)) / 127.0F;
}

// Of the formats that are allowed, the linear one where it is among them.
TensorFormat format_of(const Tensor& tensor, DataType type) {
  if ((tensor.formats & 1U) != 0) return TensorFormat::kLINEAR;
  std::string names;
  for (const FormatInfo& info : known_formats()) {
    if ((tensor.formats >> static_cast<uint32_t>(info.format) & 1U) != 0) return info.format;
    names += std::string(names.empty() ? "" : ", ") + info.name;
  }
  refuse("'" + tensor.name + "' of type " + name_of(type) + " allows none of the formats " + names);
}

// What the client's level has no type for is converted: 64-bit integers at level 8, f64.
Dtype border_type(const Tensor& tensor) {
  if (is_coded(tensor)) return Dtype::f32;
  return to_octet(tensor.getType());
}

Binding binding_of(const Tensor& tensor, const std::string& onnx) {
  Binding binding;
  binding.name = tensor.name;
  binding.onnx = onnx;
  binding.is_input = tensor.is_input;
  binding.type = to_trt(border_type(tensor));
  binding.dims = tensor.getDimensions();
  binding.on_host = tensor.location == TensorLocation::kHOST;
  if (is_coded(tensor)) {
    binding.type = DataType::kINT8;
    binding.scale = code_scale(tensor);
  }
  binding.format = format_of(tensor, binding.type);
  return binding;
}

}  // namespace

std::string head_of_own() {
  WireWriter out;
  out.integer(1, kIrVersion);
  out.bytes(2, "TensorRT network");
  out.bytes(8, opset_import("", kOpset));
  return out.take();
}

std::string only_name(const std::string& name) {
  WireWriter out;
  out.bytes(1, name);
  return out.take();
}

std::string bytes_of_graph(const ModelText& model, const std::string& more) {
  WireWriter graph;
  for (const OnnxNode& node : model.nodes) graph.bytes(1, to_wire(node));
  graph.bytes(2, "network");
  for (const std::string& tensor : model.initializers) graph.bytes(5, tensor);
  for (const std::string& input : model.inputs) graph.bytes(11, input);
  for (const std::string& output : model.outputs) graph.bytes(12, output);
  return graph.take() + more;
}

void Network::write_input(Tensor& tensor, ModelText& model, WrittenModel& written) const {
  const Dtype type = border_type(tensor);
  const std::string& inside = tensor.onnx_name();
  const bool converts = type != tensor.model_type().dtype;
  const std::string name = converts ? model.fresh(inside) : inside;
  model.inputs.push_back(value_info(name, {type, tensor.type.shape}));
  if (converts) model.nodes.push_back(cast_node(name, inside, tensor.model_type().dtype));
  written.bindings.push_back(binding_of(tensor, name));
}

void Network::write_output(Tensor& tensor, ModelText& model, WrittenModel& written) const {
  const Dtype type = border_type(tensor);
  const std::string& inside = tensor.onnx_name();
  std::string name = inside;
  if (type != tensor.model_type().dtype) {
    name = model.fresh(inside);
    model.nodes.push_back(cast_node(inside, name, type));
  } else if (tensor.is_input) {
    name = model.fresh(inside);
    model.nodes.push_back({"Identity", "", name, {inside}, {name}, ""});
  }
  model.outputs.push_back(value_info(name, {type, tensor.model_type().shape}));
  Binding binding = binding_of(tensor, name);
  binding.is_input = false;
  written.bindings.push_back(binding);
}

void Network::write_layer(LayerCore& layer, ModelText& model, std::string& functions) const {
  if (layer.parsed) {
    OnnxNode node = *layer.parsed;
    node.name = layer.name;
    for (size_t i = 0; i < layer.input_places.size() && i < layer.inputs.size(); ++i)
      node.inputs[layer.input_places[i]] = layer.inputs[i]->onnx_name();
    model.nodes.push_back(std::move(node));
    return;
  }
  ModelText own;
  own.counter = model.counter;
  own.taken = model.taken;
  Emission emission(own, layer);
  layer.emit(emission);
  model.counter = own.counter;
  std::ranges::move(own.initializers, std::back_inserter(model.initializers));
  const bool fits = !has_parsed_ || parsed_.opset == kOpset || layer.plugin() != nullptr;
  if (!fits && !own.nodes.empty()) {
    model.nodes.push_back(call_of(layer, own, functions));
  } else {
    std::ranges::move(own.nodes, std::back_inserter(model.nodes));
  }
}

void Network::write_graph(const ScopeTree& tree, const Scope* home, ModelText& model,
                          std::string& functions) const {
  std::set<const Scope*> done;
  for (LayerCore* layer : tree.layers()) {
    const Boundary bound = layer->boundary();
    if (bound.scope == nullptr) {
      if (tree.home(*layer) == home) write_layer(*layer, model, functions);
    } else if (bound.closes && tree.around(*bound.scope) == home &&
               done.insert(bound.scope).second) {
      bound.scope->write(tree, model, functions);
    }
  }
}

std::set<const LayerCore*> Network::needed() const { return needed_by(outputs_); }

// The layers that these tensors need. Nodes of a parsed model may be read from inside of others, where nobody here looks.
std::set<const LayerCore*> Network::needed_by(const std::vector<Tensor*>& tensors) const {
  std::set<const LayerCore*> found;
  std::vector<const LayerCore*> open;
  const auto reach = [&](const LayerCore* layer) {
    if (layer != nullptr && found.insert(layer).second) open.push_back(layer);
  };
  for (const Tensor* tensor : tensors) reach(tensor->producer);
  for (const auto& layer : layers)
    if (layer->parsed) reach(layer.get());
  while (!open.empty()) {
    const LayerCore* layer = open.back();
    open.pop_back();
    for (const Tensor* input : layer->inputs)
      if (input != nullptr) reach(input->producer);
    const Boundary bound = layer->boundary();
    if (bound.scope == nullptr) continue;
    for (const LayerCore* limit : bound.scope->limits()) reach(limit);
  }
  return found;
}

std::string Network::model_bytes(const ModelText& model, const std::string& functions) const {
  WireWriter more;
  for (const std::string& tensor : parsed_.sparse) more.bytes(15, tensor);
  WireWriter out;
  out.bytes(7, bytes_of_graph(model, more.text()));
  std::string head = has_parsed_ ? parsed_.head : head_of_own();
  if (has_plugins()) head += import_of(kPluginDomain);
  if (!functions.empty()) {
    WireWriter own;
    own.integer(1, kIrVersion);
    head += own.text() + import_of(kDomain) + functions;
  }
  return head + out.take();
}

void hand_on(const std::vector<std::string>& names, ModelText& model) {
  for (const std::string& name : names) {
    const std::string copy = model.fresh(name);
    model.nodes.push_back({"Identity", "", copy, {name}, {copy}, ""});
    model.outputs.push_back(only_name(copy));
  }
}

std::string inputs_of(const OnnxModel& model) {
  ModelText text;
  text.inputs = model.input_infos;
  hand_on(model.inputs, text);
  WireWriter graph;
  graph.bytes(7, bytes_of_graph(text, ""));
  return head_of_own() + graph.text();
}

std::vector<const LayerCore*> Network::layers_of_model() const {
  std::vector<const LayerCore*> found;
  const std::set<const LayerCore*> wanted = needed();
  for (const auto& layer : layers)
    if (wanted.contains(layer.get())) found.push_back(layer.get());
  return found;
}

ScopeTree Network::needed_scopes() const {
  const std::set<const LayerCore*> wanted = needed();
  std::vector<LayerCore*> found;
  for (const auto& layer : layers)
    if (wanted.contains(layer.get())) found.push_back(layer.get());
  return ScopeTree(std::move(found));
}

std::set<const LayerCore*> Network::layers_outside() const {
  if (scopes.empty()) return needed();
  const ScopeTree tree = needed_scopes();
  std::set<const LayerCore*> found;
  for (const LayerCore* layer : tree.layers())
    if (tree.home(*layer) == nullptr) found.insert(layer);
  return found;
}

std::vector<const Tensor*> Network::tensors_of_model() const {
  std::vector<const Tensor*> tensors(inputs_.begin(), inputs_.end());
  for (const LayerCore* layer : layers_of_model())
    for (const auto& output : layer->outputs) tensors.push_back(output.get());
  return tensors;
}

WrittenModel Network::write() {
  if (outputs_.empty()) refuse("the network has no outputs: mark at least one");
  WrittenModel written;
  written.weights_folder = parsed_folder_;
  ModelText model;
  std::set<std::string> taken(parsed_.initializer_names.begin(), parsed_.initializer_names.end());
  model.taken = &taken;
  model.initializers = parsed_.initializers;
  std::string functions;
  for (Tensor* input : inputs_) write_input(*input, model, written);
  const ScopeTree tree = needed_scopes();
  for (const Tensor* output : outputs_) {
    const Scope* scope = output->producer == nullptr ? nullptr : tree.home(*output->producer);
    if (scope != nullptr)
      refuse("'" + output->name + "' is inside of " + scope->shown() +
             " and cannot be an output of the network; an output of the scope can");
  }
  write_graph(tree, nullptr, model, functions);
  for (Tensor* output : outputs_) write_output(*output, model, written);
  written.bytes = model_bytes(model, functions);
  return written;
}

}  // namespace octet_trt
