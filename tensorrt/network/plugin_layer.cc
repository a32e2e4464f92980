// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/network/plugin_layer.h"

#include <algorithm>

#include "tensorrt/network/add.h"
#include "tensorrt/network/emit.h"
#include "tensorrt/plugins/operator.h"

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
  const auto data_inputs = static_cast<size_t>(live->record.signature.inputs);
  for (size_t i = 0; i < data_inputs; ++i) {
    const bool converted = is_converted(*layer.inputs[i], reals[i]);
    inputs.push_back(converted ? out.cast(out.in(i), octet::Dtype::f16) : out.in(i));
  }
  for (size_t i = data_inputs; i < layer.inputs.size(); ++i) inputs.push_back(out.in_as_int64(i));
  const auto converts_output = [&](size_t i) {
    return is_converted(*layer.outputs[i], reals[data_inputs + i]);
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

// The inputs of a layer: those of data, then shape inputs.
std::vector<ITensor*> listed(const PluginName& name, ITensor* const* inputs, int32_t count,
                             ITensor* const* shapes = nullptr, int32_t shape_count = 0) {
  if (inputs == nullptr || count < 1 || count > kMostTensors)
    plugin_failed(name, "a plugin takes 1 to 64 inputs, not " + std::to_string(count));
  if (shape_count < 0 || shape_count > kMostTensors - count ||
      (shapes == nullptr && shape_count > 0))
    plugin_failed(name, "a plugin of " + std::to_string(count) + " inputs takes up to " +
                            std::to_string(kMostTensors - count) + " shape inputs, not " +
                            std::to_string(shape_count));
  std::vector<ITensor*> list(inputs, inputs + count);
  list.insert(list.end(), shapes, shapes + shape_count);
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

// Sizes that data tell are open in the network.
void open_told(const PluginName& name, const ToldSizes& told, const std::vector<DataType>& types,
               std::vector<Dims>& dims) {
  for (const int32_t by : told.by) {
    const auto at = static_cast<size_t>(by);
    const bool is_integer = at < types.size() && (types[at] == DataType::kINT32 ||
                                                  to_octet(types[at]) == octet::Dtype::s64);
    if (!is_integer || dims[at].nbDims != 0)
      plugin_failed(name, "declareSizeTensor(" + std::to_string(by) +
                              "): that output is no INT32 or INT64 of no dimensions");
  }
  for (size_t i = 0; i < told.open.size(); ++i) {
    for (size_t d = 0; d < told.open[i].size(); ++d)
      if (told.open[i][d]) dims[i].d[d] = -1;
  }
}

std::vector<int32_t> sized_outputs(const ToldSizes& told) {
  std::vector<int32_t> sized;
  for (size_t i = 0; i < told.open.size(); ++i) {
    if (std::ranges::find(told.open[i], true) != told.open[i].end())
      sized.push_back(static_cast<int32_t>(i));
  }
  return sized;
}

// Results that data size are rows of numbers: nobody can give their codes a range before.
void keep_sizable(const PluginName& name, PluginSignature& signature) {
  const auto has_others = [&](const PluginCombo& combo) {
    return std::ranges::any_of(signature.sized, [&](int32_t output) {
      const TypedFormat& port = combo[static_cast<size_t>(signature.inputs + output)];
      return port.type == DataType::kINT8 || port.format != TensorFormat::kLINEAR;
    });
  };
  if (has_others(signature.combos.front()))  // that of reals
    plugin_failed(name, "outputs of sizes that size tensors tell need reals in kLINEAR");
  std::erase_if(signature.combos, has_others);
}

}  // namespace

void PluginCore::set(PluginName name, std::unique_ptr<PluginObject> object, int32_t shapes) {
  name_ = std::move(name);
  object_ = std::move(object);
  shapes_ = shapes;
}

size_t PluginCore::data_inputs(const LayerCore& layer) const {
  return layer.inputs.size() - static_cast<size_t>(shapes_);
}

std::vector<Tensor*> PluginCore::shape_inputs(const LayerCore& layer) const {
  std::vector<Tensor*> inputs;
  for (size_t i = data_inputs(layer); i < layer.inputs.size(); ++i) {
    Tensor* input = layer.input(i);
    const auto wrong = [&](const std::string& why) {
      const std::string name = input == nullptr ? "" : ", '" + input->name + "',";
      plugin_failed(name_, "layer '" + layer.name + "': shape input " +
                               std::to_string(inputs.size()) + name + ' ' + why);
    };
    if (input == nullptr) wrong("is missing");
    const octet::TensorType type = input->model_type();
    if (type.dtype != octet::Dtype::s32 && type.dtype != octet::Dtype::s64)
      wrong(std::string("is of type ") + name_of(type_of(*input)) + ", not Int32 or Int64");
    const int64_t count = volume(input->getDimensions());
    if (count < 0) wrong("has a number of elements that is not known while the network is built");
    if (static_cast<size_t>(count) > kMostShapeNumbers)
      wrong("has " + std::to_string(count) + " elements; getOutputShapes() can be told " +
            std::to_string(kMostShapeNumbers));
    inputs.push_back(input);
  }
  return inputs;
}

void PluginCore::infer(LayerCore& layer, std::vector<ShapeNumbers> shapes) {
  SizeSources from;
  for (size_t i = 0; i < data_inputs(layer); ++i) {
    const Tensor* input = layer.input(i);
    if (input == nullptr) plugin_failed(name_, "input " + std::to_string(i) + " is missing");
    from.types.push_back(type_of(*input));
    from.inputs.push_back(input->getDimensions());
    if (!is_valid(from.inputs.back()))
      plugin_failed(name_, "the sizes of its input '" + input->name + "' are not known");
  }
  numbers_ = std::move(shapes);
  from.shapes = numbers_;
  // Sizes first: types may be told by how many dimensions there are.
  const ToldSizes told = object_->told_sizes(from);
  std::vector<Dims> dims = object_->output_dims(from);
  const std::vector<DataType> types = object_->output_types(from);
  if (types.size() != layer.outputs.size() || dims.size() != layer.outputs.size())
    plugin_failed(name_, "getNbOutputs() changes");
  open_told(name_, told, types, dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    const Dims all = layer.network.is_implicit() ? with_front(-1, dims[i]) : dims[i];
    layer.outputs[i]->type = {to_octet(types[i]), to_shape(all)};
  }
}

PluginIo PluginCore::io_of(const LayerCore& layer) const {
  PluginIo io;
  io.inputs = static_cast<int32_t>(data_inputs(layer));
  if (layer.network.is_implicit()) io.batch = layer.network.max_batch;
  const auto add = [&](const Tensor& tensor) {
    io.tensors.push_back(
        describe(tensor.getDimensions(), type_of(tensor), TensorFormat::kLINEAR, scale_of(tensor)));
  };
  for (size_t i = 0; i < data_inputs(layer); ++i) add(*layer.inputs[i]);
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
  record.signature.shapes = shapes_;
  SizeSources from{{}, numbers_, {}};
  for (int32_t i = 0; i < io.inputs; ++i) {
    from.inputs.push_back(io.tensors[static_cast<size_t>(i)].desc.dims);
    from.types.push_back(io.tensors[static_cast<size_t>(i)].desc.type);
  }
  record.signature.sized = sized_outputs(object_->told_sizes(from));
  if (!record.signature.sized.empty()) keep_sizable(name_, record.signature);
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
    need(&plugin, "plugin");
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
    need(&plugin, "plugin");
    PluginName name;
    std::unique_ptr<PluginObject> object = adopt_clone(plugin, name);
    std::vector<ITensor*> list = listed(name, inputs, nbInputs, shapeInputs, nbShapeInputs);
    const int32_t outputs = checked_outputs(name, *object);
    auto* layer = add<PluginV3Layer>(LayerType::kPLUGIN_V3, "PluginV3", std::move(list), outputs);
    layer->set(std::move(name), std::move(object), nbShapeInputs);
    return layer;
  });
}
#endif

}  // namespace octet_trt
