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

constexpr size_t kMostTactics = 65536;

// Of any class: what those of `Build` and `Runtime` have alike.
template <class Build, class Runtime>
class V3Object : public PluginObject {
 public:
  V3Object(IPluginV3& plugin, PluginName name, std::unique_ptr<IPluginV3> builder)
      : plugin_(&plugin), builder_(std::move(builder)), name_(std::move(name)) {}

  bool is_dynamic() const override { return true; }
  IPluginV3* v3() const override { return plugin_.get(); }
  int32_t output_count() const override {
    return ask_plugin(name_, "getNbOutputs()", [&] { return build().getNbOutputs(); });
  }
  std::vector<Dims> output_dims(const SizeSources& from) const override {
    SizeBuilder builder;
    return dims_by(from, builder);
  }
  ToldSizes told_sizes(const SizeSources& from) const override {
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
  std::vector<Dims> told_dims(const SizeSources& from, const SizeValues& values) const override {
    SizeBuilder builder(values);
    return dims_by(from, builder);
  }
  void configure(const PluginIo& io) override { tell(io); }
  std::string serialize() const override {
    const PluginFieldCollection* fields = ask_plugin(
        name_, "getFieldsToSerialize()", [&] { return runtime().getFieldsToSerialize(); });
    if (fields == nullptr) plugin_failed(name_, "getFieldsToSerialize() returned a null pointer");
    return write_fields(name_, *fields);
  }

 protected:
  // Of the capability that a phase needs; null where the plugin does not show it.
  template <class Capability>
  Capability& capability(IPluginV3& of, PluginCapabilityType type, const char* text) const {
    IPluginCapability* found = ask_plugin(name_, "getCapabilityInterface()",
                                          [&] { return of.getCapabilityInterface(type); });
    if (found == nullptr)
      plugin_failed(name_, std::string("getCapabilityInterface() returned no capability ") + text);
    return static_cast<Capability&>(*found);
  }
  Build& build() const {
    IPluginV3& of = builder_ != nullptr ? *builder_ : *plugin_;
    return capability<Build>(of, PluginCapabilityType::kBUILD, "kBUILD");
  }
  Runtime& runtime() const {
    return capability<Runtime>(*plugin_, PluginCapabilityType::kRUNTIME, "kRUNTIME");
  }
  template <class Work>
  void check(const char* function, const Work& work) const {
    const int32_t status = ask_plugin(name_, function, work);
    if (status != 0)
      plugin_failed(name_, std::string(function) + " returned " + std::to_string(status));
  }
  void tell(const PluginIo& io) const {
    check("configurePlugin()", [&] {
      return build().configurePlugin(io.tensors.data(), io.inputs, io.out(), io.outputs());
    });
  }
  IPluginV3& cloned() const {
    IPluginV3* other = ask_plugin(name_, "clone()", [&] { return plugin_->clone(); });
    return *checked_clone(other, plugin_.get(), name_, "clone()");
  }
  std::vector<DataType> no_types() const {
    return std::vector<DataType>(static_cast<size_t>(std::max(0, output_count())),
                                 DataType::kFLOAT);
  }
  // Nothing is measured: the first of the plugin's own tactics, or tactic 0.
  int32_t first_tactic() const {
    Build& own = build();
    const int32_t count = ask_plugin(name_, "getNbTactics()", [&] { return own.getNbTactics(); });
    if (count <= 0 || static_cast<size_t>(count) > kMostTactics) return 0;
    std::vector<int32_t> tactics(static_cast<size_t>(count));
    check("getValidTactics()", [&] { return own.getValidTactics(tactics.data(), count); });
    return tactics[0];
  }
  void set_tactic(int32_t tactic) const {
    check("setTactic()", [&] { return runtime().setTactic(tactic); });
  }
  virtual std::vector<DimsExprs> output_sizes(const SizeSources& from, SizeBuilder& builder) const {
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

  std::unique_ptr<IPluginV3> plugin_;
  std::unique_ptr<IPluginV3> builder_;  // where the plugin shows no kBUILD itself
  PluginName name_;

 private:
  std::vector<Dims> dims_by(const SizeSources& from, SizeBuilder& builder) const {
    std::vector<Dims> dims;
    for (const DimsExprs& output : output_sizes(from, builder)) {
      dims.push_back(ask_plugin(name_, "getOutputShapes()", [&] { return builder.dims(output); }));
    }
    return dims;
  }
};

class OnePlugin final : public V3Object<IPluginV3OneBuild, IPluginV3OneRuntime> {
 public:
  using V3Object::V3Object;
  std::unique_ptr<PluginObject> clone() const override {
    return std::make_unique<OnePlugin>(cloned(), name_, nullptr);
  }
  std::vector<DataType> output_types(const SizeSources& from) const override {
    std::vector<DataType> types = no_types();
    check("getOutputDataTypes()", [&] {
      return build().getOutputDataTypes(types.data(), static_cast<int32_t>(types.size()),
                                        from.types.data(), static_cast<int32_t>(from.types.size()));
    });
    return types;
  }
  bool supports(int32_t at, const PluginIo& io) const override {
    return ask_plugin(name_, "supportsFormatCombination()", [&] {
      return build().supportsFormatCombination(at, io.tensors.data(), io.inputs, io.outputs());
    });
  }
  size_t workspace(const PluginIo& io) const override {
    return ask_plugin(name_, "getWorkspaceSize()", [&] {
      return build().getWorkspaceSize(io.tensors.data(), io.inputs, io.out(), io.outputs());
    });
  }
  std::unique_ptr<PluginObject> started(const PluginIo& io, bool) const override {
    static Resources resources;
    IPluginV3* attached = ask_plugin(name_, "attachToContext()",
                                     [&] { return runtime().attachToContext(&resources); });
    auto one = std::make_unique<OnePlugin>(
        *checked_clone(attached, plugin_.get(), name_, "attachToContext()"), name_, nullptr);
    one->set_tactic(first_tactic());
    one->resize(io);
    return one;
  }
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
};

// In elements, of a tensor that lies as Octet has it.
Dims plugin_strides(const PluginTensorDesc& desc) {
  Dims strides = desc.dims;
  const int32_t rank = desc.dims.nbDims;
  const bool channels_last = desc.format == TensorFormat::kHWC && rank == 4;
  OctetSize step = 1;
  if (channels_last) {
    strides.d[1] = step;
    step *= desc.dims.d[1];
  }
  for (int32_t i = rank - 1; i >= 0; --i) {
    if (channels_last && i == 1) continue;
    strides.d[i] = step;
    step *= desc.dims.d[i];
  }
  return strides;
}

// TensorRT's Python makes such a plugin of functions. What it takes is a list, and it knows its inputs' types before their sizes.
class QuickPlugin final : public V3Object<IPluginV3QuickBuild, IPluginV3QuickRuntime> {
 public:
  using V3Object::V3Object;
  std::unique_ptr<PluginObject> clone() const override {
    return std::make_unique<QuickPlugin>(cloned(), name_, nullptr);
  }
  std::vector<DataType> output_types(const SizeSources& from) const override {
    std::vector<DataType> types = no_types();
    std::vector<int32_t> ranks;
    for (const Dims& dims : from.inputs) ranks.push_back(dims.nbDims);
    check("getOutputDataTypes()", [&] {
      return build().getOutputDataTypes(types.data(), static_cast<int32_t>(types.size()),
                                        from.types.data(), ranks.data(),
                                        static_cast<int32_t>(ranks.size()));
    });
    return types;
  }
  bool supports(int32_t at, const PluginIo& io) const override {
    const size_t count = io.tensors.size();
    const std::vector<PluginTensorDesc>& all = combinations(io);
    for (size_t first = 0; first < all.size(); first += count) {
      if (begins_so(&all[first], at, io)) return true;
    }
    return false;
  }
  size_t workspace(const PluginIo&) const override { return 0; }
  std::unique_ptr<PluginObject> started(const PluginIo& io, bool) const override {
    auto one = std::make_unique<QuickPlugin>(cloned(), name_, nullptr);
    // Its tactics are those of the combination that it is configured for.
    combinations(io);
    tell(io);
    one->set_tactic(first_tactic());
    one->io_ = io;
    return one;
  }
  // Each run tells sizes; its tactic is one of the types and formats that it was configured for.
  bool resize(const PluginIo& io) override {
    const auto alike = [](const DynamicPluginTensorDesc& a, const DynamicPluginTensorDesc& b) {
      return a.desc.type == b.desc.type && a.desc.format == b.desc.format;
    };
    return io_.inputs == io.inputs && std::ranges::equal(io_.tensors, io.tensors, alike);
  }
  int32_t aliased_input(int32_t i) const override {
    return ask_plugin(name_, "getAliasedInput()", [&] { return build().getAliasedInput(i); });
  }
  void enqueue(const PluginCall& call) override {
    const std::vector<PluginTensorDesc> descs = call.io.descs();
    std::vector<Dims> strides;
    for (const PluginTensorDesc& desc : descs) strides.push_back(plugin_strides(desc));
    const int32_t inputs = call.io.inputs;
    check("enqueue()", [&] {
      return runtime().enqueue(descs.data(), descs.data() + inputs, call.inputs, call.outputs,
                               strides.data(), strides.data() + inputs, inputs, call.io.outputs(),
                               call.stream);
    });
  }

 private:
  std::vector<DimsExprs> output_sizes(const SizeSources& from,
                                      SizeBuilder& builder) const override {
    output_types(from);
    return V3Object::output_sizes(from, builder);
  }
  // Whether a combination has tensors 0 to `at` as they stand. Strides of blocks are nothing that it could be told.
  static bool begins_so(const PluginTensorDesc* combination, int32_t at, const PluginIo& io) {
    for (int32_t i = 0; i <= at; ++i) {
      const PluginTensorDesc& desc = io.tensors[static_cast<size_t>(i)].desc;
      const bool told = desc.format == TensorFormat::kLINEAR ||
                        (desc.format == TensorFormat::kHWC && desc.dims.nbDims == 4);
      if (!told || combination[i].type != desc.type || combination[i].format != desc.format)
        return false;
    }
    return true;
  }
  // Of tensors of these sizes, one combination behind another. The list does not depend on types and formats, which each question changes.
  const std::vector<PluginTensorDesc>& combinations(const PluginIo& io) const {
    const auto same_dims = [](const DynamicPluginTensorDesc& a, const DynamicPluginTensorDesc& b) {
      return equal(a.desc.dims, b.desc.dims);
    };
    if (!asked_.empty() && std::ranges::equal(asked_, io.tensors, same_dims)) return combinations_;
    IPluginV3QuickBuild& own = build();
    const int32_t count = ask_plugin(name_, "getNbSupportedFormatCombinations()", [&] {
      return own.getNbSupportedFormatCombinations(io.tensors.data(), io.inputs, io.outputs());
    });
    if (count < 0 || count > kMostCombinations)
      plugin_failed(name_, "getNbSupportedFormatCombinations() returned " + std::to_string(count) +
                               "; expected 0 to " + std::to_string(kMostCombinations));
    std::vector<PluginTensorDesc> all(static_cast<size_t>(count) * io.tensors.size());
    check("getSupportedFormatCombinations()", [&] {
      return own.getSupportedFormatCombinations(io.tensors.data(), io.inputs, io.outputs(),
                                                all.data(), count);
    });
    combinations_ = std::move(all);
    asked_ = io.tensors;
    return combinations_;
  }

  static constexpr int32_t kMostCombinations = 4096;
  PluginIo io_;  // that it was started for
  mutable std::vector<PluginTensorDesc> combinations_;
  mutable std::vector<DynamicPluginTensorDesc> asked_;  // for which these are; empty: for none
};

std::string text_of_field(const AsciiChar* text) { return text == nullptr ? "" : text; }

IPluginCapability* core_of(IPluginV3& plugin, const PluginName& name) {
  return ask_plugin(name, "getCapabilityInterface()",
                    [&] { return plugin.getCapabilityInterface(PluginCapabilityType::kCORE); });
}

template <class Core>
PluginName name_told(Core& core) {
  return {text_of_field(core.getPluginName()), text_of_field(core.getPluginVersion()),
          text_of_field(core.getPluginNamespace())};
}

bool shows(IPluginV3& plugin, const PluginName& name, PluginCapabilityType type) {
  return ask_plugin(name, "getCapabilityInterface()",
                    [&] { return plugin.getCapabilityInterface(type) != nullptr; });
}

// What owns the plugin, by the class that its core shows.
std::unique_ptr<PluginObject> owner(std::unique_ptr<IPluginV3> plugin, const PluginName& name,
                                    std::unique_ptr<IPluginV3> builder = nullptr) {
  const IPluginCapability* core = core_of(*plugin, name);
  const std::string kind = core == nullptr ? "" : text_of_field(core->getInterfaceInfo().kind);
  if (kind != "PLUGIN_V3QUICK_CORE")
    return std::make_unique<OnePlugin>(*plugin.release(), name, std::move(builder));
  if (!shows(*plugin, name, PluginCapabilityType::kRUNTIME))
    plugin_failed(name,
                  "it has kernels that were compiled ahead of time (aot_impl), which are not "
                  "launched; give it an impl, and add it with aot=False");
  return std::make_unique<QuickPlugin>(*plugin.release(), name, std::move(builder));
}

}  // namespace

std::unique_ptr<PluginObject> adopt(IPluginV3* plugin, const PluginName& name, const char* maker) {
  if (plugin == nullptr) plugin_failed(name, std::string(maker) + " returned a null pointer");
  return owner(std::unique_ptr<IPluginV3>(plugin), name);
}

std::unique_ptr<PluginObject> adopt_runtime(IPluginV3* plugin, const PluginName& name,
                                            const std::function<IPluginV3*()>& make_builder) {
  if (plugin == nullptr) plugin_failed(name, "createPlugin() returned a null pointer");
  std::unique_ptr<IPluginV3> own(plugin), builder;
  if (!shows(*own, name, PluginCapabilityType::kBUILD)) {
    builder.reset(make_builder());
    if (builder == nullptr)
      plugin_failed(name,
                    "it shows no capability kBUILD, and createPlugin() makes none for the build "
                    "phase of what it serialized: its sizes and workspace are not known");
  }
  return owner(std::move(own), name, std::move(builder));
}

std::unique_ptr<PluginObject> adopt_clone(IPluginV3& plugin, PluginName& name) {
  IPluginCapability* core = core_of(plugin, name);
  if (core == nullptr) plugin_failed(name, "getCapabilityInterface() returned no capability kCORE");
  const std::string kind = text_of_field(core->getInterfaceInfo().kind);
  ask_plugin(name, "getPluginName()", [&] {
    if (kind == "PLUGIN_V3ONE_CORE")
      name = name_told(static_cast<IPluginV3OneCore&>(*core));
    else if (kind == "PLUGIN_V3QUICK_CORE")
      name = name_told(static_cast<IPluginV3QuickCore&>(*core));
    else
      plugin_failed(name, "its capability is '" + kind +
                              "'; plugins of IPluginV3OneCore and IPluginV3QuickCore are run");
  });
  IPluginV3* other = ask_plugin(name, "clone()", [&] { return plugin.clone(); });
  return owner(std::unique_ptr<IPluginV3>(checked_clone(other, &plugin, name, "clone()")), name);
}

}  // namespace octet_trt
#endif
