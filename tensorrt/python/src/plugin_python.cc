// SPDX-License-Identifier: Apache-2.0
#include "plugin_python.h"

#include <cstring>

#include "plugin_python_object.h"

#if NV_TENSORRT_MAJOR >= 10
namespace octet_trt_python {
namespace {

template <class T>
nb::list listed_values(const T* values, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(values[i]);
  return list;
}

nb::list addresses(void const* const* pointers, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(number_of(pointers[i]));
  return list;
}

template <class Plugin>
Plugin* cloned(const PythonObject& object) {
  const nb::gil_scoped_acquire lock;
  nb::object clone = object.clone();
  if (clone.is_none()) return nullptr;
  return new Plugin(std::move(clone));
}

class PythonPluginV2 final : public IPluginV2DynamicExt {
 public:
  explicit PythonPluginV2(nb::object object) : object_(std::move(object)) {}

  const AsciiChar* getPluginType() const override { return object_.text("plugin_type", type_); }
  const AsciiChar* getPluginVersion() const override {
    return object_.text("plugin_version", version_);
  }
  const AsciiChar* getPluginNamespace() const override { return space_.c_str(); }
  void setPluginNamespace(const AsciiChar* space) override {
    space_ = text_of(space);
    const nb::gil_scoped_acquire lock;
    nb::setattr(object_.get(), "plugin_namespace", nb::cast(space_));
  }
  int32_t getNbOutputs() const override { return object_.attribute<int32_t>("num_outputs"); }
  DataType getOutputDataType(int32_t index, const DataType* types, int32_t count) const override {
    return object_.call("get_output_datatype", [&](const nb::object& call) {
      return nb::cast<DataType>(call(index, listed_values(types, count)));
    });
  }
  DimsExprs getOutputDimensions(int32_t index, const DimsExprs* inputs, int32_t count,
                                IExprBuilder& builder) override {
    return object_.call("get_output_dimensions", [&](const nb::object& call) {
      return nb::cast<DimsExprs>(call(index, listed_values(inputs, count), &builder));
    });
  }
  bool supportsFormatCombination(int32_t at, const PluginTensorDesc* all, int32_t inputs,
                                 int32_t outputs) override {
    return object_.call("supports_format_combination", [&](const nb::object& call) {
      return nb::cast<bool>(call(at, listed_values(all, inputs + outputs), inputs));
    });
  }
  void configurePlugin(const DynamicPluginTensorDesc* in, int32_t inputs,
                       const DynamicPluginTensorDesc* out, int32_t outputs) override {
    inputs_ = inputs;
    outputs_ = outputs;
    object_.call("configure_plugin", [&](const nb::object& call) {
      call(listed_values(in, inputs), listed_values(out, outputs));
    });
  }
  size_t getWorkspaceSize(const PluginTensorDesc* in, int32_t inputs, const PluginTensorDesc* out,
                          int32_t outputs) const override {
    return object_.optional("get_workspace_size", size_t{0}, [&](const nb::object& call) {
      return nb::cast<size_t>(call(listed_values(in, inputs), listed_values(out, outputs)));
    });
  }
  int32_t initialize() override { return object_.status("initialize"); }
  void terminate() override { object_.status("terminate"); }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) override {
    const nb::gil_scoped_acquire lock;
    return object_.status("enqueue", listed_values(in, inputs_), listed_values(out, outputs_),
                          addresses(inputs, inputs_), addresses(outputs, outputs_),
                          number_of(workspace), number_of(stream));
  }
  size_t getSerializationSize() const override { return state().size(); }
  void serialize(void* buffer) const override {
    const std::string bytes = state();
    std::memcpy(buffer, bytes.data(), bytes.size());
  }
  void destroy() override { delete this; }
  IPluginV2DynamicExt* clone() const override {
    auto* other = cloned<PythonPluginV2>(object_);
    if (other == nullptr) return nullptr;
    other->inputs_ = inputs_;
    other->outputs_ = outputs_;
    return other;
  }

 private:
  std::string state() const {
    return object_.call("serialize", [](const nb::object& call) {
      const Bytes bytes{nb::object(call())};
      return std::string(static_cast<const char*>(bytes.data()), bytes.size());
    });
  }

  PythonObject object_;
  mutable std::string type_, version_;
  std::string space_;
  int32_t inputs_ = 0, outputs_ = 0;
};

class PythonPluginV3 final : public IPluginV3,
                             public IPluginV3OneCore,
                             public IPluginV3OneBuildV2,
                             public IPluginV3OneRuntime {
 public:
  explicit PythonPluginV3(nb::object object) : object_(std::move(object)) {}

  // Another object for a part has a plugin of its own here.
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) override {
    const nb::gil_scoped_acquire lock;
    nb::object part = object_.call("get_capability_interface",
                                   [&](const nb::object& call) { return nb::object(call(type)); });
    if (part.is_none()) return nullptr;
    if (part.is(object_.get())) return part_of(*this, type);
    auto& kept = parts_[static_cast<size_t>(type) % std::size(parts_)];
    if (kept == nullptr || !kept->object_.get().is(part))
      kept = std::make_unique<PythonPluginV3>(std::move(part));
    return part_of(*kept, type);
  }
  IPluginV3* clone() override { return cloned<PythonPluginV3>(object_); }

  const AsciiChar* getPluginName() const override { return object_.text("plugin_name", name_); }
  const AsciiChar* getPluginVersion() const override {
    return object_.text("plugin_version", version_);
  }
  const AsciiChar* getPluginNamespace() const override {
    return object_.text("plugin_namespace", space_);
  }

  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t inputs,
                          const DynamicPluginTensorDesc* out, int32_t outputs) override {
    const nb::gil_scoped_acquire lock;
    return object_.status("configure_plugin", listed_values(in, inputs),
                          listed_values(out, outputs));
  }
  int32_t getOutputDataTypes(DataType* types, int32_t outputs, const DataType* in,
                             int32_t inputs) const override {
    return object_.call("get_output_data_types", [&](const nb::object& call) {
      return copied(nb::cast<std::vector<DataType>>(call(listed_values(in, inputs))), types,
                    outputs);
    });
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t inputs, const DimsExprs* values,
                          int32_t count, DimsExprs* out, int32_t outputs,
                          IExprBuilder& builder) override {
    return object_.call("get_output_shapes", [&](const nb::object& call) {
      return copied(nb::cast<std::vector<DimsExprs>>(
                        call(listed_values(in, inputs), listed_values(values, count), &builder)),
                    out, outputs);
    });
  }
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t inputs,
                                 int32_t outputs) override {
    return object_.call("supports_format_combination", [&](const nb::object& call) {
      return nb::cast<bool>(call(at, listed_values(all, inputs + outputs), inputs));
    });
  }
  int32_t getNbOutputs() const override { return object_.attribute<int32_t>("num_outputs"); }
  size_t getWorkspaceSize(const DynamicPluginTensorDesc* in, int32_t inputs,
                          const DynamicPluginTensorDesc* out, int32_t outputs) const override {
    return object_.optional("get_workspace_size", size_t{0}, [&](const nb::object& call) {
      return nb::cast<size_t>(call(listed_values(in, inputs), listed_values(out, outputs)));
    });
  }
  int32_t getNbTactics() override { return static_cast<int32_t>(tactics().size()); }
  int32_t getValidTactics(int32_t* tactics_out, int32_t count) override {
    return copied(tactics(), tactics_out, count);
  }
  int32_t getAliasedInput(int32_t output) override {
    return object_.optional("get_aliased_input", int32_t{-1}, [&](const nb::object& call) {
      return nb::cast<int32_t>(call(output));
    });
  }

  int32_t setTactic(int32_t tactic) override { return object_.status("set_tactic", tactic); }
  int32_t onShapeChange(const PluginTensorDesc* in, int32_t inputs, const PluginTensorDesc* out,
                        int32_t outputs) override {
    inputs_ = inputs;
    outputs_ = outputs;
    const nb::gil_scoped_acquire lock;
    return object_.status("on_shape_change", listed_values(in, inputs),
                          listed_values(out, outputs));
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) override {
    const nb::gil_scoped_acquire lock;
    return object_.status("enqueue", listed_values(in, inputs_), listed_values(out, outputs_),
                          addresses(inputs, inputs_), addresses(outputs, outputs_),
                          number_of(workspace), number_of(stream));
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) override {
    const nb::gil_scoped_acquire lock;
    nb::object attached = object_.call("attach_to_context", [&](const nb::object& call) {
      return nb::object(call(nb::cast(context, nb::rv_policy::reference)));
    });
    return attached.is_none() ? nullptr : new PythonPluginV3(std::move(attached));
  }
  const PluginFieldCollection* getFieldsToSerialize() override {
    const nb::gil_scoped_acquire lock;
    fields_ = object_.call("get_fields_to_serialize",
                           [](const nb::object& call) { return nb::cast<Fields>(call()); });
    collection_ = std::make_unique<Collection>(fields_.list);
    return &collection_->all;
  }

 private:
  static IPluginCapability* part_of(PythonPluginV3& plugin, PluginCapabilityType type) {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(&plugin);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(&plugin);
    return static_cast<IPluginV3OneRuntime*>(&plugin);
  }
  template <class T>
  static int32_t copied(const std::vector<T>& from, T* to, int32_t count) {
    if (static_cast<int32_t>(from.size()) != count) {
      throw std::runtime_error("a list of " + std::to_string(from.size()) + " was returned, and " +
                               std::to_string(count) + " are wanted");
    }
    std::copy(from.begin(), from.end(), to);
    return 0;
  }
  std::vector<int32_t> tactics() const {
    return object_.optional(
        "get_valid_tactics", std::vector<int32_t>(),
        [](const nb::object& call) { return nb::cast<std::vector<int32_t>>(call()); });
  }

  PythonObject object_;
  mutable std::string name_, version_, space_;
  std::unique_ptr<PythonPluginV3> parts_[3];
  Fields fields_;
  std::unique_ptr<Collection> collection_;
  int32_t inputs_ = 0, outputs_ = 0;
};

}  // namespace

IPluginV2* make_python_plugin_v2(nb::object plugin) {
  return new PythonPluginV2(std::move(plugin));
}
IPluginV3* make_python_plugin_v3(nb::object plugin) {
  return new PythonPluginV3(std::move(plugin));
}

}  // namespace octet_trt_python
#endif
