// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tensorrt/network/network.h"

namespace octet_trt {

void LayerCore::set_input(int32_t index, ITensor* tensor) noexcept {
  guarded(network.reporter, "ILayer::setInput", false, [&] {
    Tensor* own = network.own(tensor);
    if (index < 0 || index >= 16)
      refuse("layer '" + name + "' has no input " + std::to_string(index));
    const auto at = static_cast<size_t>(index);
    if (inputs.size() <= at) inputs.resize(at + 1);
    inputs[at] = own;
    touch();
    return true;
  });
}

void LayerCore::refuse_property(const char* property, const std::string& why) const noexcept {
  guarded(network.reporter, "ILayer", false, [&]() -> bool {
    refuse("set" + std::string(property) + " of layer '" + name + "': " + why);
  });
}

void LayerCore::touch() {
  if (!inferred) return;
  inferred = false;
  // Whatever reads what this layer gives is not known any more, either.
  for (const auto& layer : network.layers) {
    bool reads = false;
    for (const Tensor* tensor : layer->inputs)
      reads = reads || (tensor != nullptr && tensor->producer == this);
    if (reads) layer->touch();
  }
}

void Tensor::setName(char const* value) noexcept {
  guarded(network.reporter, "ITensor::setName", false, [&] {
    if (value == nullptr) refuse("the name of '" + name + "' was to be a null pointer");
    if (name == value) return true;
    network.release(unique_name);
    name = value;
    unique_name = network.unique(name);
    return true;
  });
}

octet::TensorType Tensor::model_type() const {
  if (producer != nullptr && !producer->inferred) network.infer(*producer);
  octet::TensorType result = type;
  // At the border a client may ask for a type that the model does not compute in.
  if (!is_input || !parsed_name.empty()) return result;
  const bool is_half = result.dtype == octet::Dtype::f16 || result.dtype == octet::Dtype::bf16;
  if (is_half || (result.dtype == octet::Dtype::s8 && range)) result.dtype = octet::Dtype::f32;
  return result;
}

void Tensor::touch_readers() const {
  for (const auto& layer : network.layers) {
    if (std::ranges::find(layer->inputs, this) != layer->inputs.end()) layer->touch();
  }
}

void Tensor::setDimensions(Dims const& dimensions) noexcept {
  guarded(network.reporter, "ITensor::setDimensions", false, [&] {
    need_right(dimensions, "sizes");
    if (!is_input) refuse("the sizes of '" + name + "', which is no input, follow from its layer");
    type.shape = to_shape(network.is_implicit() ? with_front(-1, dimensions) : dimensions);
    touch_readers();
    if (!parsed_name.empty()) network.parsed_inputs_changed();
    return true;
  });
}

Dims Tensor::getDimensions() const noexcept {
  Dims unknown{};
  unknown.nbDims = -1;
  return guarded(network.reporter, "ITensor::getDimensions", unknown, [&] {
    const Dims dims = to_dims(model_type().shape);
    return network.is_implicit() ? without_front(dims) : dims;
  });
}

void Tensor::setType(DataType value) noexcept {
  guarded(network.reporter, "ITensor::setType", false, [&] {
    need_right(value, "type");
    asked_type = value;
    if (is_input && network.is_strongly_typed()) touch_readers();
    return true;
  });
}

void Tensor::setLocation(TensorLocation where) noexcept {
  guarded(network.reporter, "ITensor::setLocation", false, [&] {
    need_right(where, "location");
    location = where;
    return true;
  });
}

DataType Tensor::getType() const noexcept {
  return guarded(network.reporter, "ITensor::getType", DataType::kFLOAT, [&] {
    if (asked_type && (is_input || isNetworkOutput())) return *asked_type;
    if (is_input) return to_trt(type.dtype);
    const octet::Dtype inside = model_type().dtype;
    return carried ? *carried : to_trt(inside);
  });
}

bool Tensor::setDynamicRange(float min, float max) noexcept {
  return guarded(network.reporter, "ITensor::setDynamicRange", false, [&] {
    if (!(std::isfinite(min) && std::isfinite(max) && min <= max))
      refuse("'" + name + "' has no range from " + std::to_string(min) + " to " +
             std::to_string(max));
    range = Interval{min, max};
    return true;
  });
}

float Tensor::getDynamicRangeMin() const noexcept { return range ? range->min : std::nanf(""); }
float Tensor::getDynamicRangeMax() const noexcept { return range ? range->max : std::nanf(""); }

bool Tensor::isNetworkOutput() const noexcept { return network.is_output(*this); }

namespace {

// Of a node of a parsed model: whether sizes of its result rest on the numbers of this input.
bool tells_sizes(const std::string& op, size_t place) {
  static const std::map<std::string, size_t, std::less<>> only = {
      {"Reshape", 1}, {"Expand", 1}, {"Tile", 1}, {"Pad", 1},
      {"TopK", 1},    {"OneHot", 1}, {"Loop", 0}, {"ConstantOfShape", 0}};
  static const std::map<std::string, size_t, std::less<>> from = {
      {"Slice", 1}, {"Resize", 1}, {"Upsample", 1}, {"Range", 0}};
  const auto one = only.find(op), first = from.find(op);
  return (one != only.end() && place == one->second) ||
         (first != from.end() && place >= first->second);
}

bool tells_sizes(const LayerCore& layer, size_t input) {
  if (layer.parsed)
    return input < layer.input_places.size() &&
           tells_sizes(layer.parsed->op, layer.input_places[input]);
  switch (layer.kind()) {
    case LayerType::kSHUFFLE:
    case LayerType::kSLICE:
    case LayerType::kRESIZE:
    case LayerType::kTOPK:
      return input >= 1;
    case LayerType::kLOOP_OUTPUT:
      return input == 1;
    case LayerType::kONE_HOT:
      return input == 2;
    case LayerType::kFILL:
      return true;
    case LayerType::kTRIP_LIMIT:
      return layer.inputs[input]->model_type().dtype != octet::Dtype::boolean;
    default:
      return false;
  }
}

bool is_few_integers(const Tensor& tensor) {
  const octet::TensorType type = tensor.model_type();
  return is_integer(type.dtype) && !type.shape.is_unknown() && type.shape.rank() <= 1;
}

// Whether a layer takes the numbers of a tensor as sizes.
bool takes_as_sizes(const LayerCore& layer, const Tensor& tensor) {
  for (size_t i = 0; i < layer.inputs.size(); ++i)
    if (layer.inputs[i] == &tensor && tells_sizes(layer, i)) return true;
  return false;
}

// Whether sizes in the network rest on the numbers of an input: those themselves, or what is computed of them.
bool tells_sizes(const Tensor& input) {
  std::set<const Tensor*> seen = {&input};
  std::vector<const Tensor*> open = {&input};
  const auto follow = [&](const LayerCore& layer) {
    for (const auto& output : layer.outputs)
      if (seen.insert(output.get()).second) open.push_back(output.get());
  };
  while (!open.empty()) {
    const Tensor* tensor = open.back();
    open.pop_back();
    if (!is_few_integers(*tensor)) continue;
    for (const auto& layer : input.network.layers) {
      if (takes_as_sizes(*layer, *tensor)) return true;
      if (std::ranges::find(layer->inputs, tensor) != layer->inputs.end()) follow(*layer);
    }
  }
  return false;
}

}  // namespace

// Sizes and indices: integers of which there are few.
bool Tensor::isShapeTensor() const noexcept {
  if (is_input)
    return !network.is_implicit() && guarded(network.reporter, "ITensor::isShapeTensor", false,
                                             [&] { return tells_sizes(*this); });
  const DataType own = getType();
  bool is_integer = own == DataType::kINT32;
#if NV_TENSORRT_MAJOR >= 10
  is_integer = is_integer || own == DataType::kINT64;
#endif
  const Dims dims = getDimensions();
  return is_integer && !network.is_implicit() && dims.nbDims >= 0 && dims.nbDims <= 1 &&
         producer != nullptr && network.is_shape_arithmetic(*producer);
}

bool Tensor::isExecutionTensor() const noexcept { return !isShapeTensor(); }

void Tensor::setDimensionName(int32_t index, char const* value) noexcept {
  if (index >= 0 && index < Dims::MAX_DIMS) dimension_names[index] = value == nullptr ? "" : value;
}

char const* Tensor::getDimensionName(int32_t index) const noexcept {
  const bool is_one = index >= 0 && index < Dims::MAX_DIMS;
  return is_one && !dimension_names[index].empty() ? dimension_names[index].c_str() : nullptr;
}

}  // namespace octet_trt
