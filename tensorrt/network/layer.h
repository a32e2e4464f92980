// SPDX-License-Identifier: Apache-2.0
// Tensors and layers as the library makes them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensorrt/network/layer_data.h"
#include "tensorrt/shared/onnx_text.h"
#include "tensorrt/shared/types.h"

namespace octet_trt {

class Emission;
class LayerCore;
class Network;
class PluginCore;
class Scope;

// A layer between what is inside of a loop or a condition and what is outside of it.
struct Boundary {
  Scope* scope = nullptr;
  bool closes = false;
};

class Tensor final : public Handed<ITensor> {
 public:
  Tensor(Network& owner, std::string shown) : network(owner), name(std::move(shown)) {}

  void setName(char const* name) noexcept override;
  char const* getName() const noexcept override { return name.c_str(); }
  void setDimensions(Dims const& dimensions) noexcept override;
  Dims getDimensions() const noexcept override;
  void setType(DataType type) noexcept override;
  DataType getType() const noexcept override;
  bool setDynamicRange(float min, float max) noexcept override;
  bool isNetworkInput() const noexcept override { return is_input; }
  bool isNetworkOutput() const noexcept override;
  void setBroadcastAcrossBatch(bool broadcast) noexcept override { broadcasts = broadcast; }
  bool getBroadcastAcrossBatch() const noexcept override { return broadcasts; }
  TensorLocation getLocation() const noexcept override { return location; }
  void setLocation(TensorLocation where) noexcept override;
  bool dynamicRangeIsSet() const noexcept override { return range.has_value(); }
  void resetDynamicRange() noexcept override { range.reset(); }
  float getDynamicRangeMin() const noexcept override;
  float getDynamicRangeMax() const noexcept override;
  void setAllowedFormats(TensorFormats value) noexcept override { formats = value; }
  TensorFormats getAllowedFormats() const noexcept override { return formats; }
  bool isShapeTensor() const noexcept override;
  bool isExecutionTensor() const noexcept override;
  void setDimensionName(int32_t index, char const* name) noexcept override;
  char const* getDimensionName(int32_t index) const noexcept override;

  // The name in the model: that of a parsed model, or the shown one.
  const std::string& onnx_name() const { return parsed_name.empty() ? unique_name : parsed_name; }
  // What the model holds: a type that is asked for at the border of the network is made there.
  octet::TensorType model_type() const;
  void touch_readers() const;

  struct Interval {
    float min;
    float max;
  };

  Network& network;
  std::string name;
  std::string parsed_name;  // in a parsed model; empty otherwise
  std::string unique_name;  // while a model is written
  LayerCore* producer = nullptr;
  bool is_input = false;
  bool broadcasts = false;
  TensorLocation location = TensorLocation::kDEVICE;
  std::optional<Interval> range;
  TensorFormats formats = 1;
  std::optional<DataType> asked_type;  // by setType()
  octet::TensorType type;  // of an input, or as inferred; with the batch where it is implicit
  // In a strongly typed network, of reals that the model computes in f32 (typed.cc).
  std::optional<DataType> carried;
  std::string dimension_names[Dims::MAX_DIMS];

 private:
  friend class Network;
};

// What all layers are beside their properties.
class LayerCore {
 public:
  LayerCore(Network& owner, std::string shown) : network(owner), name(std::move(shown)) {}
  virtual ~LayerCore() = default;
  virtual ILayer& shown() = 0;
  virtual LayerType kind() const = 0;
  // Writes the layer as nodes of a model.
  virtual void emit(Emission& out) = 0;
  // Null for a layer that is none.
  virtual PluginCore* plugin() { return nullptr; }
  // Without a scope for a layer that is none.
  virtual Boundary boundary() const { return {}; }

  void set_input(int32_t index, ITensor* tensor) noexcept;
  void touch();  // what was inferred holds no more, here and below
  // A line in the log.
  void refuse_property(const char* property, const std::string& why) const noexcept;
  Tensor* input(size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }

  Network& network;
  std::string name;
  std::vector<Tensor*> inputs;
  std::vector<std::unique_ptr<Tensor>> outputs;
  std::vector<std::optional<DataType>> output_types;
  std::optional<DataType> precision;
  std::string metadata;
  bool inferred = false;
  std::optional<OnnxNode> parsed;    // a node of a parsed model, written as it stood
  std::vector<size_t> input_places;  // of a parsed node: where `inputs` stand among the node's
};

// A layer of one interface. `emit_layer` is overloaded for each.
template <class Base>
class LayerOf : public LayerData<Base>, public LayerCore {
 public:
  LayerOf(Network& owner, LayerType type, std::string shown_name)
      : LayerCore(owner, std::move(shown_name)), type_(type) {}

  ILayer& shown() override { return *this; }
  LayerType kind() const override { return type_; }
  void emit(Emission& out) override { emit_layer(static_cast<const Base&>(*this), out); }

  LayerType getType() const noexcept override { return type_; }
  void setName(char const* value) noexcept override { name = value == nullptr ? "" : value; }
  char const* getName() const noexcept override { return name.c_str(); }
  int32_t getNbInputs() const noexcept override { return static_cast<int32_t>(inputs.size()); }
  ITensor* getInput(int32_t index) const noexcept override {
    return index < 0 ? nullptr : input(static_cast<size_t>(index));
  }
  int32_t getNbOutputs() const noexcept override { return static_cast<int32_t>(outputs.size()); }
  ITensor* getOutput(int32_t index) const noexcept override {
    const bool is_one = index >= 0 && index < getNbOutputs();
    return is_one ? outputs[static_cast<size_t>(index)].get() : nullptr;
  }
  void setInput(int32_t index, ITensor& tensor) noexcept override { set_input(index, &tensor); }
  void setPrecision(DataType value) noexcept override {
    if (this->takes("Precision", value)) precision = value;
  }
  DataType getPrecision() const noexcept override { return precision.value_or(DataType::kFLOAT); }
  bool precisionIsSet() const noexcept override { return precision.has_value(); }
  void resetPrecision() noexcept override { precision.reset(); }
  void setOutputType(int32_t index, DataType value) noexcept override {
    if (index < 0 || index >= getNbOutputs())
      return refused("OutputType", "there is no output " + std::to_string(index));
    if (!this->takes("OutputType", value)) return;
    output_types.resize(outputs.size());
    output_types[static_cast<size_t>(index)] = value;
    touch();
  }
  DataType getOutputType(int32_t index) const noexcept override {
    if (outputTypeIsSet(index)) return *output_types[static_cast<size_t>(index)];
    const ITensor* tensor = getOutput(index);
    return tensor == nullptr ? DataType::kFLOAT : tensor->getType();
  }
  bool outputTypeIsSet(int32_t index) const noexcept override {
    return index >= 0 && static_cast<size_t>(index) < output_types.size() &&
           output_types[static_cast<size_t>(index)].has_value();
  }
  void resetOutputType(int32_t index) noexcept override {
    if (!outputTypeIsSet(index)) return;
    output_types[static_cast<size_t>(index)].reset();
    touch();
  }
  void setMetadata(char const* value) noexcept override {
    metadata = value == nullptr ? "" : value;
  }
  char const* getMetadata() const noexcept override { return metadata.c_str(); }
#if NV_TENSORRT_MAJOR >= 10
  // Of processes that share a network; there is one.
  bool setNbRanks(int32_t count) noexcept override {
    if (count != 1) refused("NbRanks", "an engine runs in one process");
    return count == 1;
  }
  int32_t getNbRanks() const noexcept override { return 1; }
#endif

 protected:
  void changed() noexcept override { touch(); }
  void refused(const char* property, const std::string& why) noexcept override {
    refuse_property(property, why);
  }

 private:
  LayerType type_;
};

}  // namespace octet_trt
