// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/network/emission.h"

#include <cstring>

#include "integrations/wire/wire.h"
#include "tensorrt/network/network.h"

namespace octet_trt {

using octet_wire::WireWriter;

using octet::Dtype;

const std::string& Emission::in(size_t i) const {
  const Tensor* tensor = layer_.input(i);
  if (tensor == nullptr) {
    refuse("layer '" + layer_.name + "' lacks its input " + std::to_string(i));
  }
  return tensor->onnx_name();
}

std::string Emission::in_as_int64(size_t i) {
  return dtype(i) == Dtype::s64 ? in(i) : cast(in(i), Dtype::s64);
}

Dims Emission::dims(size_t i) const {
  in(i);
  const Dims dims = layer_.input(i)->getDimensions();
  if (!is_valid(dims)) {
    refuse("layer '" + layer_.name + "': the sizes of its input '" + layer_.input(i)->name +
           "' are not known");
  }
  return dims;
}

Dtype Emission::dtype(size_t i) const {
  in(i);
  return layer_.input(i)->model_type().dtype;
}

const std::string& Emission::out(size_t i) const { return layer_.outputs.at(i)->onnx_name(); }

std::optional<DataType> Emission::output_type(size_t i) const {
  return i < layer_.output_types.size() ? layer_.output_types[i] : std::nullopt;
}

int Emission::batch() const { return layer_.network.is_implicit() ? 1 : 0; }

std::vector<int64_t> Emission::axes(uint32_t mask) const {
  std::vector<int64_t> result;
  for (int i = 0; i < 32; ++i)
    if ((mask >> i & 1U) != 0) result.push_back(axis(i));
  return result;
}

void Emission::node_with(const std::string& op, std::vector<std::string> inputs,
                         std::vector<std::string> outputs, OnnxAttributes attributes) {
  OnnxNode node{op, "", "", std::move(inputs), std::move(outputs), ""};
  // The node that writes what the layer gives has the layer's name.
  const bool is_last = !layer_.outputs.empty() && node.outputs.front() == out(0);
  node.name = is_last ? layer_.name : model_.fresh(layer_.name);
  WireWriter fields;
  for (const OnnxAttribute& attribute : attributes) fields.bytes(5, to_wire(attribute));
  node.rest = fields.take();
  model_.nodes.push_back(std::move(node));
}

std::string Emission::node(const std::string& op, std::vector<std::string> inputs,
                           OnnxAttributes attributes) {
  std::string value = model_.fresh(out());
  node_with(op, std::move(inputs), {value}, std::move(attributes));
  return value;
}

void Emission::custom(const std::string& domain, const std::string& op,
                      std::vector<std::string> inputs, std::vector<std::string> outputs,
                      OnnxAttributes attributes) {
  node_with(op, std::move(inputs), std::move(outputs), std::move(attributes));
  model_.nodes.back().domain = domain;
}

void Emission::last(const std::string& op, std::vector<std::string> inputs,
                    OnnxAttributes attributes, size_t i) {
  node_with(op, std::move(inputs), {out(i)}, std::move(attributes));
}

std::string Emission::cast(const std::string& value, Dtype to) {
  return node("Cast", {value}, {{"to", onnx_type_of(to)}});
}

// What a refit calls the weights: as the client named them, or by layer and role.
std::string Emission::weights_name(const Weights& weights, const std::string& role) const {
  const auto& names = layer_.network.weight_names;
  const auto found = names.find(weights.values);
  return found != names.end() ? found->second : layer_.name + "." + role;
}

std::string Emission::constant(const octet::TensorType& type, std::string_view raw, bool always,
                               const std::string& wanted) {
  std::string name = wanted.empty() ? model_.fresh(layer_.name + ".weights") : wanted;
  if (model_.taken != nullptr && !model_.taken->insert(name).second) name = model_.fresh(name);
  if (model_.with_weights || always) {
    model_.initializers.push_back(tensor_proto(name, type, raw));
  } else {
    model_.inputs.push_back(value_info(name, type));
  }
  return name;
}

std::string as_f32(const Weights& weights) {
  const auto count = static_cast<size_t>(weights.count);
  std::string raw(count * sizeof(float), '\0');
  if (weights.type == DataType::kFLOAT) {
    if (count > 0) std::memcpy(raw.data(), weights.values, raw.size());
    return raw;
  }
  for (size_t i = 0; i < count; ++i) {
    octet::f16 half;
    std::memcpy(&half.bits, static_cast<const char*>(weights.values) + 2 * i, 2);
    float value = static_cast<float>(half);
    if (to_octet(weights.type) == Dtype::bf16) {
      octet::bf16 brain;
      brain.bits = half.bits;
      value = static_cast<float>(brain);
    }
    std::memcpy(raw.data() + i * sizeof value, &value, sizeof value);
  }
  return raw;
}

namespace {

bool is_half(DataType type) { return type == DataType::kHALF || to_octet(type) == Dtype::bf16; }

}  // namespace

std::string Emission::weights(const Weights& weights, const std::vector<int64_t>& sizes,
                              const char* role) {
  int64_t expected = 1;
  for (int64_t size : sizes) expected *= size;
  if (weights.count != expected || (expected > 0 && weights.values == nullptr)) {
    refuse("layer '" + layer_.name + "': its " + role + " weights have " +
           std::to_string(weights.values == nullptr ? 0 : weights.count) +
           " values, and its sizes need " + std::to_string(expected));
  }
  const octet::Shape shape{std::span<const int64_t>(sizes)};
  const Dtype dtype = is_half(weights.type) ? Dtype::f32 : to_octet(weights.type);
  // Few numbers may be sizes and indices, which tell the sizes of other tensors.
  const bool is_small = expected <= kFew;
  const std::string name = weights_name(weights, role);
  if (!model_.with_weights && !is_small) return constant({dtype, shape}, {}, false, name);
  if (dtype == Dtype::f32) return constant({dtype, shape}, as_f32(weights), true, name);
  const size_t bytes = static_cast<size_t>(expected) * octet::dtype_bytes(dtype);
  return constant({dtype, shape}, {static_cast<const char*>(weights.values), bytes}, true, name);
}

std::string Emission::floats(const std::vector<float>& values, const std::vector<int64_t>& sizes) {
  return constant({Dtype::f32, octet::Shape(std::span<const int64_t>(sizes))},
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)},
                  true);
}

std::string Emission::integers(const std::vector<int64_t>& values) {
  return constant({Dtype::s64, octet::Shape{static_cast<int64_t>(values.size())}},
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)},
                  true);
}

}  // namespace octet_trt
