// SPDX-License-Identifier: Apache-2.0
// Plugins of the third kind, which show a capability for each phase.
#include <algorithm>
#include <functional>

#include "tensorrt/plugins/expr.h"
#include "tensorrt/plugins/fields.h"
#include "tensorrt/plugins/object.h"

#if NV_TENSORRT_MAJOR >= 10
namespace octet_trt {
namespace {

// What plugins may ask of the context that runs them: memory is the host's, and errors go where the network's go.
class Resources final : public Padded<IPluginResourceContext> {
 public:
  IGpuAllocator* getGpuAllocator() const noexcept override { return nullptr; }
  IErrorRecorder* getErrorRecorder() const noexcept override { return nullptr; }
};

class V3Object final : public PluginObject {
 public:
  V3Object(IPluginV3& plugin, PluginName name, std::unique_ptr<IPluginV3> builder = nullptr)
      : plugin_(&plugin), builder_(std::move(builder)), name_(std::move(name)) {}

  std::unique_ptr<PluginObject> clone() const override {
    IPluginV3* other = ask_plugin(name_, "clone()", [&] { return plugin_->clone(); });
    return std::make_unique<V3Object>(*checked_clone(other, plugin_.get(), name_, "clone()"),
                                      name_);
  }
  bool is_dynamic() const override { return true; }
  IPluginV3* v3() const override { return plugin_.get(); }
  int32_t output_count() const override {
    return ask_plugin(name_, "getNbOutputs()", [&] { return build().getNbOutputs(); });
  }
  std::vector<DataType> output_types(const std::vector<DataType>& inputs) const override;
  std::vector<Dims> output_dims(const SizeSources& from) const override;
  ToldSizes told_sizes(const SizeSources& from) const override;
  std::vector<Dims> told_dims(const SizeSources& from, const SizeValues& values) const override {
    SizeBuilder builder(values);
    return dims_by(from, builder);
  }
  bool supports(int32_t at, const PluginIo& io) const override {
    return ask_plugin(name_, "supportsFormatCombination()", [&] {
      return build().supportsFormatCombination(at, io.tensors.data(), io.inputs, io.outputs());
    });
  }
  void configure(const PluginIo& io) override {
    check("configurePlugin()", [&] {
      return build().configurePlugin(io.tensors.data(), io.inputs, io.out(), io.outputs());
    });
  }
  size_t workspace(const PluginIo& io) const override {
    return ask_plugin(name_, "getWorkspaceSize()", [&] {
      return build().getWorkspaceSize(io.tensors.data(), io.inputs, io.out(), io.outputs());
    });
  }
  std::string serialize() const override {
    const PluginFieldCollection* fields = ask_plugin(
        name_, "getFieldsToSerialize()", [&] { return runtime().getFieldsToSerialize(); });
    if (fields == nullptr) plugin_failed(name_, "getFieldsToSerialize() returned a null pointer");
    return write_fields(name_, *fields);
  }
  std::unique_ptr<PluginObject> started(const PluginIo& io, bool) const override;
  bool resize(const PluginIo& io) override {
    const std::vector<PluginTensorDesc> descs = io.descs();
    check("onShapeChange()", [&] {
      return runtime().onShapeChange(descs.data(), io.inputs, descs.data() + io.inputs,
                                     io.outputs());
    });
    return true;
  }
  int32_t aliased_input(int32_t i) const override {
    IPluginV3OneBuild& own = build();
    if (own.getInterfaceInfo().major < 2) return -1;
    return ask_plugin(name_, "getAliasedInput()",
                      [&] { return static_cast<IPluginV3OneBuildV2&>(own).getAliasedInput(i); });
  }
  void enqueue(const PluginCall& call) override {
    const std::vector<PluginTensorDesc> descs = call.io.descs();
    check("enqueue()", [&] {
      return runtime().enqueue(descs.data(), descs.data() + call.io.inputs, call.inputs,
                               call.outputs, call.workspace, call.stream);
    });
  }

 private:
  // Of the capability that a phase needs; null where the plugin does not show it.
  template <class Capability>
  Capability& capability(IPluginV3& of, PluginCapabilityType type, const char* text) const {
    IPluginCapability* found = ask_plugin(name_, "getCapabilityInterface()",
                                          [&] { return of.getCapabilityInterface(type); });
    if (found == nullptr)
      plugin_failed(name_, std::string("getCapabilityInterface() returned no capability ") + text);
    return static_cast<Capability&>(*found);
  }
  IPluginV3OneBuild& build() const {
    IPluginV3& of = builder_ != nullptr ? *builder_ : *plugin_;
    return capability<IPluginV3OneBuild>(of, PluginCapabilityType::kBUILD, "kBUILD");
  }
  IPluginV3OneRuntime& runtime() const {
    return capability<IPluginV3OneRuntime>(*plugin_, PluginCapabilityType::kRUNTIME, "kRUNTIME");
  }
  template <class Work>
  void check(const char* function, const Work& work) const {
    const int32_t status = ask_plugin(name_, function, work);
    if (status != 0)
      plugin_failed(name_, std::string(function) + " returned " + std::to_string(status));
  }
  std::vector<DimsExprs> output_sizes(const SizeSources& from, SizeBuilder& builder) const;
  std::vector<Dims> dims_by(const SizeSources& from, SizeBuilder& builder) const;
  void choose_tactic(V3Object& one) const;

  std::unique_ptr<IPluginV3> plugin_;
  std::unique_ptr<IPluginV3> builder_;  // where the plugin shows no kBUILD itself
  PluginName name_;
};

std::vector<DataType> V3Object::output_types(const std::vector<DataType>& inputs) const {
  std::vector<DataType> types(static_cast<size_t>(std::max(0, output_count())), DataType::kFLOAT);
  check("getOutputDataTypes()", [&] {
    return build().getOutputDataTypes(types.data(), static_cast<int32_t>(types.size()),
                                      inputs.data(), static_cast<int32_t>(inputs.size()));
  });
  return types;
}

std::vector<DimsExprs> V3Object::output_sizes(const SizeSources& from, SizeBuilder& builder) const {
  std::vector<DimsExprs> sizes, shapes;
  std::vector<DimsExprs> outputs(static_cast<size_t>(std::max(0, output_count())));
  for (const Dims& dims : from.inputs) sizes.push_back(builder.sizes(dims));
  for (const ShapeNumbers& numbers : from.shapes) shapes.push_back(builder.numbers(numbers));
  check("getOutputShapes()", [&] {
    return build().getOutputShapes(sizes.data(), static_cast<int32_t>(sizes.size()),
                                   shapes.empty() ? nullptr : shapes.data(),
                                   static_cast<int32_t>(shapes.size()), outputs.data(),
                                   static_cast<int32_t>(outputs.size()), builder);
  });
  return outputs;
}

std::vector<Dims> V3Object::dims_by(const SizeSources& from, SizeBuilder& builder) const {
  std::vector<Dims> dims;
  for (const DimsExprs& output : output_sizes(from, builder)) {
    dims.push_back(ask_plugin(name_, "getOutputShapes()", [&] { return builder.dims(output); }));
  }
  return dims;
}

std::vector<Dims> V3Object::output_dims(const SizeSources& from) const {
  SizeBuilder builder;
  return dims_by(from, builder);
}

ToldSizes V3Object::told_sizes(const SizeSources& from) const {
  SizeBuilder builder;
  ToldSizes told;
  bool any = false;
  for (const DimsExprs& output : output_sizes(from, builder)) {
    ask_plugin(name_, "getOutputShapes()", [&] { return builder.dims(output); });
    told.open.push_back(SizeBuilder::told(output));
    any |= std::ranges::find(told.open.back(), true) != told.open.back().end();
  }
  told.by = builder.size_tensors();
  return any ? told : ToldSizes();
}

// Nothing is measured: the first of the plugin's own tactics, or tactic 0.
void V3Object::choose_tactic(V3Object& one) const {
  IPluginV3OneBuild& own = build();
  const int32_t count = ask_plugin(name_, "getNbTactics()", [&] { return own.getNbTactics(); });
  int32_t tactic = 0;
  if (count > 0 && count <= 65536) {
    std::vector<int32_t> tactics(static_cast<size_t>(count));
    check("getValidTactics()", [&] { return own.getValidTactics(tactics.data(), count); });
    tactic = tactics[0];
  }
  one.check("setTactic()", [&] { return one.runtime().setTactic(tactic); });
}

std::unique_ptr<PluginObject> V3Object::started(const PluginIo& io, bool) const {
  static Resources resources;
  IPluginV3* attached =
      ask_plugin(name_, "attachToContext()", [&] { return runtime().attachToContext(&resources); });
  auto one = std::make_unique<V3Object>(
      *checked_clone(attached, plugin_.get(), name_, "attachToContext()"), name_);
  choose_tactic(*one);
  one->resize(io);
  return one;
}

std::string text_of_field(const AsciiChar* text) { return text == nullptr ? "" : text; }

}  // namespace

std::unique_ptr<PluginObject> adopt(IPluginV3* plugin, const PluginName& name, const char* maker) {
  if (plugin == nullptr) plugin_failed(name, std::string(maker) + " returned a null pointer");
  return std::make_unique<V3Object>(*plugin, name);
}

std::unique_ptr<PluginObject> adopt_runtime(IPluginV3* plugin, const PluginName& name,
                                            const std::function<IPluginV3*()>& make_builder) {
  if (plugin == nullptr) plugin_failed(name, "createPlugin() returned a null pointer");
  std::unique_ptr<IPluginV3> own(plugin), builder;
  const auto builds = [&] {
    return own->getCapabilityInterface(PluginCapabilityType::kBUILD) != nullptr;
  };
  if (!ask_plugin(name, "getCapabilityInterface()", builds)) {
    builder.reset(ask_plugin(name, "createPlugin()", make_builder));
    if (builder == nullptr)
      plugin_failed(name,
                    "it shows no capability kBUILD, and createPlugin() makes none for the build "
                    "phase of what it serialized: its sizes and workspace are not known");
  }
  return std::make_unique<V3Object>(*own.release(), name, std::move(builder));
}

std::unique_ptr<PluginObject> adopt_clone(IPluginV3& plugin, PluginName& name) {
  IPluginCapability* core = ask_plugin(name, "getCapabilityInterface()", [&] {
    return plugin.getCapabilityInterface(PluginCapabilityType::kCORE);
  });
  if (core == nullptr) plugin_failed(name, "getCapabilityInterface() returned no capability kCORE");
  const std::string kind = text_of_field(core->getInterfaceInfo().kind);
  if (kind != "PLUGIN_V3ONE_CORE") {
    plugin_failed(name, "its capability is '" + kind +
                            "'; plugins of IPluginV3OneCore, OneBuild and OneRuntime are run");
  }
  auto& own = static_cast<IPluginV3OneCore&>(*core);
  ask_plugin(name, "getPluginName()", [&] {
    name.type = text_of_field(own.getPluginName());
    name.version = text_of_field(own.getPluginVersion());
    name.space = text_of_field(own.getPluginNamespace());
  });
  IPluginV3* other = ask_plugin(name, "clone()", [&] { return plugin.clone(); });
  return std::make_unique<V3Object>(*checked_clone(other, &plugin, name, "clone()"), name);
}

}  // namespace octet_trt
#endif
