// SPDX-License-Identifier: Apache-2.0
#include "plugin_layer.h"

#include <algorithm>

#include "emit.h"
#include "network_add.h"
#include "plugin_operator.h"

namespace octet_trt {
namespace {

// An operator of Octet has no more.
constexpr int32_t kMostTensors = 64;

DataType type_of(const Tensor& tensor) { return to_trt(tensor.model_type().dtype); }

float scale_of(const Tensor& tensor) {
  if (!tensor.range) return 0;
  return std::max(std::abs(tensor.range->min), std::abs(tensor.range->max)) / 127.0F;
}

// A plugin of halves in a network of floats: they are converted around it.
bool is_converted(const Tensor& tensor, const TypedFormat& port) {
  return port.type == DataType::kHALF && type_of(tensor) == DataType::kFLOAT;
}

// The layer's key is all that its node says: what it stands for is held by who builds and runs.
void emit_plugin(Emission& out) {
  LayerCore& layer = out.layer();
  const std::shared_ptr<LivePlugin>& live = layer.plugin()->live(layer);
  const PluginCombo& reals = live->record.signature.combos.front();
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const bool converted = is_converted(*layer.inputs[i], reals[i]);
    inputs.push_back(converted ? out.cast(out.in(i), octet::Dtype::f16) : out.in(i));
  }
  const auto converts_output = [&](size_t i) {
    return is_converted(*layer.outputs[i], reals[layer.inputs.size() + i]);
  };
  for (size_t i = 0; i < layer.outputs.size(); ++i)
    outputs.push_back(converts_output(i) ? out.fresh(i) : out.out(i));
  out.custom(kPluginDomain, declare_operator(live->record.signature), inputs, outputs,
             {{kPluginKey, live->record.key}});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (converts_output(i))
      out.last("Cast", {outputs[i]}, {{"to", onnx_type_of(octet::Dtype::f32)}}, i);
  }
}

std::vector<ITensor*> listed(const PluginName& name, ITensor* const* inputs, int32_t count) {
  if (inputs == nullptr || count < 1 || count > kMostTensors)
    plugin_failed(name, "a plugin takes 1 to 64 inputs, not " + std::to_string(count));
  std::vector<ITensor*> list(inputs, inputs + count);
  if (std::ranges::find(list, nullptr) != list.end())
    plugin_failed(name, "one of its inputs is a null pointer");
  return list;
}

int32_t checked_outputs(const PluginName& name, const PluginObject& object) {
  const int32_t count = object.output_count();
  if (count < 1 || count > kMostTensors)
    plugin_failed(name, "getNbOutputs() returned " + std::to_string(count));
  return count;
}

}  // namespace

void PluginCore::set(PluginName name, std::unique_ptr<PluginObject> object) {
  name_ = std::move(name);
  object_ = std::move(object);
}

void PluginCore::infer(LayerCore& layer) const {
  std::vector<DataType> types;
  std::vector<Dims> dims;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const Tensor* input = layer.input(i);
    if (input == nullptr) plugin_failed(name_, "input " + std::to_string(i) + " is missing");
    types.push_back(type_of(*input));
    dims.push_back(input->getDimensions());
    if (!is_valid(dims.back()))
      plugin_failed(name_, "the sizes of its input '" + input->name + "' are not known");
  }
  types = object_->output_types(types);
  dims = object_->output_dims(dims);
  if (types.size() != layer.outputs.size() || dims.size() != layer.outputs.size())
    plugin_failed(name_, "getNbOutputs() changes");
  for (size_t i = 0; i < dims.size(); ++i) {
    const Dims all = layer.network.is_implicit() ? with_front(-1, dims[i]) : dims[i];
    layer.outputs[i]->type = {to_octet(types[i]), to_shape(all)};
  }
}

PluginIo PluginCore::io_of(const LayerCore& layer) const {
  PluginIo io;
  io.inputs = static_cast<int32_t>(layer.inputs.size());
  if (layer.network.is_implicit()) io.batch = layer.network.max_batch;
  const auto add = [&](const Tensor& tensor) {
    io.tensors.push_back(
        describe(tensor.getDimensions(), type_of(tensor), TensorFormat::kLINEAR, scale_of(tensor)));
  };
  for (const Tensor* input : layer.inputs) add(*input);
  for (const auto& output : layer.outputs) add(*output);
  return io;
}

const std::shared_ptr<LivePlugin>& PluginCore::live(const LayerCore& layer) {
  PluginIo io = io_of(layer);
  PluginRecord record;
  record.name = name_;
  record.layer = layer.name;
  record.implicit = layer.network.is_implicit();
  record.signature = negotiate(*object_, name_, io, layer.network.reporter);
  if (record.implicit) {
    for (int32_t& rank : record.signature.ranks) ++rank;
  }
  const PluginCombo& reals = record.signature.combos.front();
  for (size_t i = 0; i < reals.size(); ++i) {
    io.tensors[i].desc.type = reals[i].type;
    io.tensors[i].desc.format = reals[i].format;
  }
  std::unique_ptr<PluginObject> configured = object_->clone();
  configured->configure(io);
  record.state = configured->serialize();
  record.key = key_of(record);
  held_ = publish(std::move(record), std::move(configured));
  return held_;
}

void emit_layer(const IPluginV2Layer&, Emission& out) { emit_plugin(out); }

IPluginV2Layer* Network::addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                                     IPluginV2& plugin) noexcept {
  OCTET_TRT_ADD("addPluginV2", IPluginV2Layer, {
    PluginName name;
    std::unique_ptr<PluginObject> object = adopt_clone(plugin, name);
    if (implicit_ && object->is_dynamic())
      plugin_failed(name, "a plugin of IPluginV2DynamicExt needs a network with explicit batch");
    const int32_t outputs = checked_outputs(name, *object);
    auto* layer = add<PluginV2Layer>(LayerType::kPLUGIN_V2, "PluginV2",
                                     listed(name, inputs, nbInputs), outputs);
    layer->set(std::move(name), std::move(object));
    return layer;
  });
}

#if NV_TENSORRT_MAJOR >= 10
void emit_layer(const IPluginV3Layer&, Emission& out) { emit_plugin(out); }

IPluginV3Layer* Network::addPluginV3(ITensor* const* inputs, int32_t nbInputs,
                                     ITensor* const* shapeInputs, int32_t nbShapeInputs,
                                     IPluginV3& plugin) noexcept {
  OCTET_TRT_ADD("addPluginV3", IPluginV3Layer, {
    PluginName name;
    std::unique_ptr<PluginObject> object = adopt_clone(plugin, name);
    if (shapeInputs != nullptr && nbShapeInputs > 0)
      plugin_failed(name,
                    "shape inputs of plugins are not supported; give sizes by the shapes of "
                    "other inputs");
    const int32_t outputs = checked_outputs(name, *object);
    auto* layer = add<PluginV3Layer>(LayerType::kPLUGIN_V3, "PluginV3",
                                     listed(name, inputs, nbInputs), outputs);
    layer->set(std::move(name), std::move(object));
    return layer;
  });
}
#endif

}  // namespace octet_trt
