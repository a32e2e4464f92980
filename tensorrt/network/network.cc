// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/network/network.h"

#include <algorithm>

#include "tensorrt/network/attention.h"
#include "tensorrt/network/plugin_layer.h"
#include "tensorrt/network/scope.h"

namespace octet_trt {

namespace {

template <class Pointer, class List>
Pointer at(const List& list, int32_t index) {
  const bool is_one = index >= 0 && static_cast<size_t>(index) < list.size();
  return is_one ? &*list[static_cast<size_t>(index)] : nullptr;
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

Network::Network(IBuilder& owner, Reporter told, bool implicit, uint32_t creation_flags)
    : builder(owner), reporter(told), implicit_(implicit), flags_(creation_flags) {}
Network::~Network() = default;

std::string Network::unique(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = wanted + "~" + std::to_string(i);
  return name;
}

Tensor* Network::new_tensor(const std::string& name) {
  auto tensor = std::make_unique<Tensor>(*this, name);
  tensor->unique_name = unique(name);
  input_tensors_.push_back(std::move(tensor));
  return input_tensors_.back().get();
}

ITensor* Network::addInput(char const* name, DataType type, Dims const& dimensions) noexcept {
  return guarded(reporter, "INetworkDefinition::addInput", static_cast<ITensor*>(nullptr), [&] {
    if (name == nullptr || *name == '\0') refuse("an input needs a name");
    need_right(type, "type");
    need_right(dimensions, "sizes");
    if (!is_valid(dimensions)) refuse(std::string("input '") + name + "' has no valid sizes");
    for (const Tensor* other : inputs_)
      if (other->name == name) refuse(std::string("there is an input '") + name + "' already");
    Tensor* tensor = new_tensor(name);
    tensor->is_input = true;
    tensor->type = {to_octet(type), to_shape(implicit_ ? with_front(-1, dimensions) : dimensions)};
    inputs_.push_back(tensor);
    return static_cast<ITensor*>(tensor);
  });
}

Tensor* Network::own(ITensor* tensor) const {
  need(tensor, "tensor");
  auto* given = static_cast<Tensor*>(tensor);
  if (&given->network != this) refuse("'" + given->name + "' is a tensor of another network");
  return given;
}

bool Network::mark(const char* function, ITensor* tensor) noexcept {
  return guarded(reporter, function, false, [&] {
    Tensor* marked = own(tensor);
    if (!is_output(*marked)) outputs_.push_back(marked);
    return true;
  });
}

bool Network::unmark(const char* function, ITensor* tensor) noexcept {
  return guarded(reporter, function, false, [&] {
    std::erase(outputs_, own(tensor));
    return true;
  });
}

void Network::markOutput(ITensor& tensor) noexcept {
  mark("INetworkDefinition::markOutput", &tensor);
}

void Network::unmarkOutput(ITensor& tensor) noexcept {
  unmark("INetworkDefinition::unmarkOutput", &tensor);
}

bool Network::is_output(const Tensor& tensor) const {
  return std::ranges::find(outputs_, &tensor) != outputs_.end();
}

bool Network::markOutputForShapes(ITensor& tensor) noexcept {
  return mark("INetworkDefinition::markOutputForShapes", &tensor);
}

bool Network::unmarkOutputForShapes(ITensor& tensor) noexcept {
  return unmark("INetworkDefinition::unmarkOutputForShapes", &tensor);
}

int32_t Network::getNbLayers() const noexcept { return static_cast<int32_t>(layers.size()); }
ILayer* Network::getLayer(int32_t index) const noexcept {
  auto* layer = at<LayerCore*>(layers, index);
  return layer == nullptr ? nullptr : &layer->shown();
}
int32_t Network::getNbInputs() const noexcept { return static_cast<int32_t>(inputs_.size()); }
ITensor* Network::getInput(int32_t index) const noexcept { return at<Tensor*>(inputs_, index); }
int32_t Network::getNbOutputs() const noexcept { return static_cast<int32_t>(outputs_.size()); }
ITensor* Network::getOutput(int32_t index) const noexcept { return at<Tensor*>(outputs_, index); }

void Network::removeTensor(ITensor& tensor) noexcept {
  if (unmark("INetworkDefinition::removeTensor", &tensor))
    std::erase(inputs_, static_cast<Tensor*>(&tensor));
}

void Network::setName(char const* name) noexcept { name_ = text_of(name); }
char const* Network::getName() const noexcept { return name_.c_str(); }
bool Network::hasImplicitBatchDimension() const noexcept { return implicit_; }

bool Network::setWeightsName(Weights weights, char const* name) noexcept {
  if (weights.values == nullptr || name == nullptr) return false;
  weight_names[weights.values] = name;
  return true;
}

void Network::setErrorRecorder(IErrorRecorder* recorder) noexcept { reporter.recorder = recorder; }
IErrorRecorder* Network::getErrorRecorder() const noexcept { return reporter.recorder; }
IBuilder& Network::getBuilder() const noexcept { return builder; }

std::vector<Tensor*> Network::all_tensors() const {
  std::vector<Tensor*> all(inputs_);
  for (const auto& layer : layers)
    for (const auto& output : layer->outputs) all.push_back(output.get());
  return all;
}

bool Network::has_quantizers() const {
  std::set<const Tensor*> data(inputs_.begin(), inputs_.end());
  // Layers may stand in any order.
  for (size_t before = 0; before != data.size();) {
    before = data.size();
    for (const auto& layer : layers) {
      const auto is_data = [&](const Tensor* input) { return data.contains(input); };
      if (std::ranges::none_of(layer->inputs, is_data)) continue;
      if (layer->kind() == LayerType::kQUANTIZE || layer->kind() == LayerType::kDEQUANTIZE)
        return true;
      for (const auto& output : layer->outputs) data.insert(output.get());
    }
  }
  return false;
}

bool Network::has_plugins() const {
  return std::ranges::any_of(layers, [](const auto& layer) { return layer->plugin() != nullptr; });
}

std::vector<std::shared_ptr<LivePlugin>> Network::plugins_of_model() const {
  const std::vector<const LayerCore*> wanted = layers_of_model();
  std::vector<std::shared_ptr<LivePlugin>> plugins;
  for (const auto& layer : layers) {
    const bool is_wanted = std::ranges::find(wanted, layer.get()) != wanted.end();
    if (is_wanted && layer->plugin() != nullptr) plugins.push_back(layer->plugin()->held());
  }
  return plugins;
}

#if NV_TENSORRT_MAJOR >= 10
bool Network::getFlag(NetworkDefinitionCreationFlag flag) const noexcept {
  return guarded(reporter, "INetworkDefinition::getFlag", false, [&] {
    need_right(flag, "flag");
    return (flags_ >> static_cast<uint32_t>(flag) & 1U) != 0;
  });
}
uint32_t Network::getFlags() const noexcept { return flags_; }

// No tensor inside of an engine can be watched while it runs.
bool Network::markDebug(ITensor& tensor) noexcept {
  return guarded(reporter, "INetworkDefinition::markDebug", false, [&] {
    reporter.error(ErrorCode::kUNSUPPORTED_STATE, "INetworkDefinition::markDebug: '" +
                                                      own(&tensor)->name +
                                                      "' cannot be watched; mark it as an output");
    return false;
  });
}
bool Network::unmarkDebug(ITensor& tensor) noexcept {
  return guarded(reporter, "INetworkDefinition::unmarkDebug", false,
                 [&] { return own(&tensor) == nullptr; });
}
bool Network::isDebugTensor(ITensor const& tensor) const noexcept {
  return guarded(reporter, "INetworkDefinition::isDebugTensor", false,
                 [&] { return own(const_cast<ITensor*>(&tensor)) == nullptr; });
}
bool Network::markUnfusedTensorsAsDebugTensors() noexcept { return false; }
bool Network::unmarkUnfusedTensorsAsDebugTensors() noexcept { return true; }
bool Network::markWeightsRefittable(char const* name) noexcept {
  return name != nullptr && refittable.insert(name).second;
}
bool Network::unmarkWeightsRefittable(char const* name) noexcept {
  return name != nullptr && refittable.erase(name) == 1;
}
bool Network::areWeightsMarkedRefittable(char const* name) const noexcept {
  return name != nullptr && refittable.contains(name);
}
#else
bool Network::hasExplicitPrecision() const noexcept { return (flags_ & 2U) != 0; }
#endif

}  // namespace octet_trt
