// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

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

// Sizes and indices: integers of which there are few.
bool Tensor::isShapeTensor() const noexcept {
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
