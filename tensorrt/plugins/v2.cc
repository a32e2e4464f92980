// SPDX-License-Identifier: Apache-2.0
// Plugins of the second kind: of fixed sizes (IPluginV2, IPluginV2Ext, IPluginV2IOExt), and of open ones (IPluginV2DynamicExt).
#include <algorithm>

#include "tensorrt/plugins/expr.h"
#include "tensorrt/plugins/object.h"
#include "tensorrt/plugins/registry.h"
#include "tensorrt/plugins/state.h"

namespace octet_trt {
namespace {

// Classes of TensorRT's Python have a bit more, and the functions of those that they derive from.
PluginVersion kind_of(const IPluginV2& plugin) {
  constexpr uint32_t kPython = 0x40;
  const uint32_t version = static_cast<uint32_t>(plugin.getTensorRTVersion()) >> 24;
  return static_cast<PluginVersion>(version & ~kPython);
}

bool is_real(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kINT8;
}

// Owns the client's object.
class V2Object : public PluginObject {
 public:
  V2Object(IPluginV2& plugin, PluginName name) : plugin_(&plugin), name_(std::move(name)) {}
  V2Object(const V2Object&) = delete;
  V2Object& operator=(const V2Object&) = delete;
  ~V2Object() override {
    try {
      stop();
      plugin_->destroy();
    } catch (...) {  // nobody is left to be told
    }
  }

  std::unique_ptr<PluginObject> clone() const override { return copy(); }
  std::unique_ptr<PluginObject> started(const PluginIo& io, bool as_serialized) const override {
    std::unique_ptr<V2Object> one = copy();
    if (!as_serialized || is_dynamic()) one->configure(io);
    one->start();
    return one;
  }
  int32_t output_count() const override {
    return ask_plugin(name_, "getNbOutputs()", [&] { return plugin_->getNbOutputs(); });
  }
  int32_t aliased_input(int32_t) const override { return -1; }
  IPluginV2* v2() const override { return plugin_; }
  std::string serialize() const override {
    return ask_plugin(name_, "serialize()", [&] {
      return written_state(name_, plugin_->getSerializationSize(),
                           [&](void* to) { plugin_->serialize(to); });
    });
  }

 protected:
  std::unique_ptr<V2Object> copy() const;
  void check_status(const char* function, int32_t status) const {
    if (status != 0)
      plugin_failed(name_, std::string(function) + " returned " + std::to_string(status));
  }
  bool is_extended() const { return kind_of(*plugin_) != PluginVersion::kV2; }
  IPluginV2Ext& extended() const { return static_cast<IPluginV2Ext&>(*plugin_); }
  DataType type_of(int32_t output, const std::vector<DataType>& inputs) const {
    if (!is_extended()) return DataType::kFLOAT;
    const DataType type = ask_plugin(name_, "getOutputDataType()", [&] {
      return extended().getOutputDataType(output, inputs.data(),
                                          static_cast<int32_t>(inputs.size()));
    });
    // What a plugin computes in is settled by its formats; the network says reals of all of these.
    return is_real(type) && std::ranges::find(inputs, type) == inputs.end() ? DataType::kFLOAT
                                                                            : type;
  }

  IPluginV2* plugin_;
  PluginName name_;

 private:
  void start() {
    check_status("initialize()",
                 ask_plugin(name_, "initialize()", [&] { return plugin_->initialize(); }));
    initialized_ = true;
    if (!is_extended()) return;
    ask_plugin(name_, "attachToContext()",
               [&] { extended().attachToContext(nullptr, nullptr, nullptr); });
    attached_ = true;
  }
  void stop() {
    if (attached_) extended().detachFromContext();
    if (initialized_) plugin_->terminate();
  }

  bool initialized_ = false, attached_ = false;
};

class FixedPlugin final : public V2Object {
 public:
  using V2Object::V2Object;
  bool is_dynamic() const override { return false; }
  std::vector<DataType> output_types(const SizeSources& from) const override {
    std::vector<DataType> types;
    for (int32_t i = 0; i < output_count(); ++i) types.push_back(type_of(i, from.types));
    return types;
  }
  std::vector<Dims> output_dims(const SizeSources& from) const override;
  bool supports(int32_t at, const PluginIo& io) const override;
  void configure(const PluginIo& io) override;
  size_t workspace(const PluginIo& io) const override {
    return ask_plugin(name_, "getWorkspaceSize()",
                      [&] { return plugin_->getWorkspaceSize(io.batch); });
  }
  bool resize(const PluginIo&) override { return false; }
  void enqueue(const PluginCall& call) override {
    check_status("enqueue()", ask_plugin(name_, "enqueue()", [&] {
                   return plugin_->enqueue(call.io.batch, call.inputs, call.outputs, call.workspace,
                                           call.stream);
                 }));
  }

 private:
  bool is_io() const { return kind_of(*plugin_) == PluginVersion::kV2_IOEXT; }
  void configure_extended(const PluginIo& io);
  void configure_plain(const PluginIo& io);
};

std::vector<Dims> FixedPlugin::output_dims(const SizeSources& from) const {
  const std::vector<Dims>& inputs = from.inputs;
  for (const Dims& dims : inputs) {
    if (volume(dims) < 0) {
      plugin_failed(name_,
                    "PluginV2Layer must be V2DynamicExt when there are runtime input dimensions: "
                    "an input has the sizes " +
                        to_string(dims));
    }
  }
  std::vector<Dims> outputs;
  for (int32_t i = 0; i < output_count(); ++i) {
    outputs.push_back(ask_plugin(name_, "getOutputDimensions()", [&] {
      return plugin_->getOutputDimensions(i, inputs.data(), static_cast<int32_t>(inputs.size()));
    }));
    if (!is_valid(outputs.back()) || volume(outputs.back()) < 0) {
      plugin_failed(name_, "getOutputDimensions(" + std::to_string(i) + ") gives the sizes " +
                               to_string(outputs.back()));
    }
  }
  return outputs;
}

// The elder classes have one type and format for all reals, and no scales for codes.
bool FixedPlugin::supports(int32_t at, const PluginIo& io) const {
  const std::vector<PluginTensorDesc> descs = io.descs();
  if (is_io()) {
    return ask_plugin(name_, "supportsFormatCombination()", [&] {
      return static_cast<IPluginV2IOExt*>(plugin_)->supportsFormatCombination(
          at, descs.data(), io.inputs, io.outputs());
    });
  }
  const PluginTensorDesc& desc = descs[static_cast<size_t>(at)];
  if (desc.type == DataType::kINT8) return false;
  if (!is_real(desc.type)) return desc.format == TensorFormat::kLINEAR;
  for (int32_t i = 0; i < at; ++i) {
    const PluginTensorDesc& other = descs[static_cast<size_t>(i)];
    if (is_real(other.type) && (other.type != desc.type || other.format != desc.format))
      return false;
  }
  return ask_plugin(name_, "supportsFormat()",
                    [&] { return plugin_->supportsFormat(desc.type, desc.format); });
}

void FixedPlugin::configure(const PluginIo& io) {
  const std::vector<PluginTensorDesc> descs = io.descs();
  if (is_io()) {
    return ask_plugin(name_, "configurePlugin()", [&] {
      static_cast<IPluginV2IOExt*>(plugin_)->configurePlugin(
          descs.data(), io.inputs, descs.data() + io.inputs, io.outputs());
    });
  }
  return is_extended() ? configure_extended(io) : configure_plain(io);
}

// The tensors of a call in lists of their own, as the elder classes are told.
struct ElderIo {
  explicit ElderIo(const PluginIo& io) {
    for (const DynamicPluginTensorDesc& tensor : io.tensors) {
      dims.push_back(tensor.desc.dims);
      types.push_back(tensor.desc.type);
      if (is_real(tensor.desc.type)) first = tensor.desc;
    }
  }
  std::vector<Dims> dims;
  std::vector<DataType> types;
  PluginTensorDesc first{Dims{}, DataType::kFLOAT, TensorFormat::kLINEAR, 0};
};

void FixedPlugin::configure_extended(const PluginIo& io) {
  const ElderIo all(io);
  const std::unique_ptr<bool[]> no_broadcast(new bool[io.tensors.size() + 1]());
  ask_plugin(name_, "configurePlugin()", [&] {
    extended().configurePlugin(all.dims.data(), io.inputs, all.dims.data() + io.inputs,
                               io.outputs(), all.types.data(), all.types.data() + io.inputs,
                               no_broadcast.get(), no_broadcast.get(), all.first.format, io.batch);
  });
}

void FixedPlugin::configure_plain(const PluginIo& io) {
  const ElderIo all(io);
  ask_plugin(name_, "configureWithFormat()", [&] {
    plugin_->configureWithFormat(all.dims.data(), io.inputs, all.dims.data() + io.inputs,
                                 io.outputs(), all.first.type, all.first.format, io.batch);
  });
}

class DynamicPlugin final : public V2Object {
 public:
  using V2Object::V2Object;
  bool is_dynamic() const override { return true; }
  std::vector<DataType> output_types(const SizeSources& from) const override {
    std::vector<DataType> types;
    for (int32_t i = 0; i < output_count(); ++i) types.push_back(type_of(i, from.types));
    return types;
  }
  std::vector<Dims> output_dims(const SizeSources& from) const override {
    SizeBuilder builder;
    std::vector<DimsExprs> sizes;
    for (const Dims& dims : from.inputs) sizes.push_back(builder.sizes(dims));
    std::vector<Dims> outputs;
    for (int32_t i = 0; i < output_count(); ++i) {
      outputs.push_back(ask_plugin(name_, "getOutputDimensions()", [&] {
        const DimsExprs dims =
            own().getOutputDimensions(i, sizes.data(), static_cast<int32_t>(sizes.size()), builder);
        const Dims most = builder.dims(dims);
        if (!builder.size_tensors().empty()) refuse("size tensors are for plugins of IPluginV3");
        return most;
      }));
    }
    return outputs;
  }
  bool supports(int32_t at, const PluginIo& io) const override {
    const std::vector<PluginTensorDesc> descs = io.descs();
    return ask_plugin(name_, "supportsFormatCombination()", [&] {
      return own().supportsFormatCombination(at, descs.data(), io.inputs, io.outputs());
    });
  }
  void configure(const PluginIo& io) override {
    ask_plugin(name_, "configurePlugin()", [&] {
      own().configurePlugin(io.tensors.data(), io.inputs, io.out(), io.outputs());
    });
  }
  size_t workspace(const PluginIo& io) const override {
    const std::vector<PluginTensorDesc> descs = io.descs();
    return ask_plugin(name_, "getWorkspaceSize()", [&] {
      return own().getWorkspaceSize(descs.data(), io.inputs, descs.data() + io.inputs,
                                    io.outputs());
    });
  }
  bool resize(const PluginIo& io) override {
    configure(io);
    return true;
  }
  void enqueue(const PluginCall& call) override {
    const std::vector<PluginTensorDesc> descs = call.io.descs();
    check_status("enqueue()", ask_plugin(name_, "enqueue()", [&] {
                   return own().enqueue(descs.data(), descs.data() + call.io.inputs, call.inputs,
                                        call.outputs, call.workspace, call.stream);
                 }));
  }

 private:
  IPluginV2DynamicExt& own() const { return static_cast<IPluginV2DynamicExt&>(*plugin_); }
};

std::unique_ptr<V2Object> wrap(IPluginV2& plugin, const PluginName& name) {
  if (kind_of(plugin) == PluginVersion::kV2_DYNAMICEXT)
    return std::make_unique<DynamicPlugin>(plugin, name);
  return std::make_unique<FixedPlugin>(plugin, name);
}

std::unique_ptr<V2Object> V2Object::copy() const {
  IPluginV2* other = ask_plugin(name_, "clone()", [&] { return plugin_->clone(); });
  auto object = wrap(*checked_clone(other, plugin_, name_, "clone()"), name_);
  ask_plugin(name_, "setPluginNamespace()",
             [&] { other->setPluginNamespace(kept_text(name_.space)); });
  return object;
}

std::string text_from(const AsciiChar* text) { return text == nullptr ? "" : text; }

// Where only one creator has this name its namespace is the plugin's; else the plugin is asked, whose pointer may be nobody's.
std::string space_of(const IPluginV2& plugin, const PluginName& name) {
  const std::vector<std::string> spaces = creator_spaces(name.type, name.version);
  if (spaces.size() == 1) return spaces[0];
  return spaces.empty() ? "" : text_from(plugin.getPluginNamespace());
}

}  // namespace

std::unique_ptr<PluginObject> adopt_clone(IPluginV2& plugin, PluginName& name) {
  ask_plugin(name, "getPluginType()", [&] {
    name.type = text_from(plugin.getPluginType());
    name.version = text_from(plugin.getPluginVersion());
    name.space = space_of(plugin, name);
  });
  IPluginV2* own = ask_plugin(name, "clone()", [&] { return plugin.clone(); });
  return wrap(*checked_clone(own, &plugin, name, "clone()"), name);
}

std::unique_ptr<PluginObject> adopt(IPluginV2* plugin, const PluginName& name, const char* maker) {
  if (plugin == nullptr) plugin_failed(name, std::string(maker) + " returned a null pointer");
  return wrap(*plugin, name);
}

}  // namespace octet_trt
