// SPDX-License-Identifier: Apache-2.0
// Plugins of libraries: the registry, creators, the fields that they are made with, and layers of them. None are written in Python.
#include <memory>
#include <string>

#include "layers.h"

namespace octet_trt_python {
namespace {

using nb::arg;

// A field that keeps its data alive.
struct Field {
  std::string name;
  nb::object data;  // an array of NumPy
  PluginFieldType type;
};

struct Kind {
  PluginFieldType type;
  const char* numpy;
};
constexpr Kind kKinds[] = {
    {PluginFieldType::kFLOAT16, "float16"}, {PluginFieldType::kFLOAT32, "float32"},
    {PluginFieldType::kFLOAT64, "float64"}, {PluginFieldType::kINT8, "int8"},
    {PluginFieldType::kINT16, "int16"},     {PluginFieldType::kINT32, "int32"},
#if NV_TENSORRT_MAJOR >= 10
    {PluginFieldType::kINT64, "int64"},
#endif
};

Field make_field(const std::string& name, nb::handle data, PluginFieldType type) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (nb::isinstance<nb::bytes>(data))
    return {name, numpy.attr("frombuffer")(data, arg("dtype") = "int8"), type};
  nb::object array = data.is_none() ? nb::object(numpy.attr("empty")(0))
                                    : nb::object(numpy.attr("ascontiguousarray")(data));
  if (type == PluginFieldType::kUNKNOWN) {
    const std::string dtype =
        nb::cast<std::string>(nb::str(nb::handle(nb::object(array.attr("dtype")))));
    for (const Kind& kind : kKinds) {
      if (dtype == kind.numpy) type = kind.type;
    }
  }
  return {name, std::move(array), type};
}

PluginField field_of(const Field& field) {
  const auto address = nb::cast<uintptr_t>(field.data.attr("ctypes").attr("data"));
  return {field.name.c_str(), reinterpret_cast<const void*>(address), field.type,
          nb::cast<int32_t>(field.data.attr("size"))};
}

// Valid as long as the fields are.
struct Collection {
  explicit Collection(const std::vector<Field>& of) {
    for (const Field& field : of) fields.push_back(field_of(field));
    all = {static_cast<int32_t>(fields.size()), fields.data()};
  }
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  std::vector<PluginField> fields;
  PluginFieldCollection all{};
};

struct Fields {
  std::vector<Field> list;
};

Fields fields_of(const PluginFieldCollection* names) {
  Fields fields;
  for (int32_t i = 0; names != nullptr && i < names->nbFields; ++i)
    fields.list.push_back(
        make_field(text_of(names->fields[i].name), nb::none(), names->fields[i].type));
  return fields;
}

void add_fields(nb::module_& module) {
  nb::class_<Field>(module, "PluginField")
      .def(
          "__init__",
          [](Field* self, const std::string& name, nb::handle data, PluginFieldType type) {
            new (self) Field(make_field(name, data, type));
          },
          arg("name") = "", arg("data").none() = nb::none(),
          arg("type") = PluginFieldType::kUNKNOWN)
      .def_rw("name", &Field::name)
      .def_ro("data", &Field::data)
      .def_ro("type", &Field::type)
      .def_prop_ro("size", [](const Field& self) { return nb::object(self.data.attr("size")); });
  nb::class_<Fields>(module, "PluginFieldCollection")
      .def(nb::init<>())
      .def(
          "__init__", [](Fields* self, const std::vector<Field>& list) { new (self) Fields{list}; },
          arg("fields"))
      .def(
          "append", [](Fields& self, const Field& field) { self.list.push_back(field); },
          arg("field"))
      .def("__len__", [](const Fields& self) { return self.list.size(); })
      .def("__getitem__", [](const Fields& self, size_t i) {
        if (i >= self.list.size()) throw nb::index_error();
        return self.list[i];
      });
  nb::implicitly_convertible<std::vector<Field>, Fields>();
}

struct Destroy {
  void operator()(IPluginV2* plugin) const { plugin->destroy(); }
};
struct PluginV2 {
  std::unique_ptr<IPluginV2, Destroy> plugin;
};

nb::object plugin_object(IPluginV2* plugin) {
  if (plugin == nullptr) return nb::none();
  return nb::cast(PluginV2{std::unique_ptr<IPluginV2, Destroy>(plugin)});
}

template <class Creator>
nb::class_<Creator, IPluginCreatorInterface> creator_class(nb::module_& module, const char* name) {
  nb::class_<Creator, IPluginCreatorInterface> type(module, name);
  type.def_prop_ro("name", [](const Creator& self) { return text_of(self.getPluginName()); })
      .def_prop_ro("plugin_version",
                   [](const Creator& self) { return text_of(self.getPluginVersion()); })
      .def_prop_ro("plugin_namespace",
                   [](const Creator& self) { return text_of(self.getPluginNamespace()); })
      .def_prop_ro("field_names", [](Creator& self) { return fields_of(self.getFieldNames()); });
  return type;
}

void add_creators(nb::module_& module) {
  nb::class_<IPluginCreatorInterface>(module, "IPluginCreatorInterface");
  nb::class_<PluginV2>(module, "IPluginV2")
      .def_prop_ro("plugin_type",
                   [](const PluginV2& self) { return text_of(self.plugin->getPluginType()); })
      .def_prop_ro("plugin_version",
                   [](const PluginV2& self) { return text_of(self.plugin->getPluginVersion()); })
      .def_prop_ro("num_outputs", [](const PluginV2& self) { return self.plugin->getNbOutputs(); });
  auto creator = creator_class<IPluginCreator>(module, "IPluginCreator");
  creator.def(
      "create_plugin",
      [](IPluginCreator& self, const char* name, const Fields& fields) {
        const Collection collection(fields.list);
        return plugin_object(self.createPlugin(name, &collection.all));
      },
      arg("name"), arg("field_collection"));
  creator.def(
      "deserialize_plugin",
      [](IPluginCreator& self, const char* name, nb::handle serialized) {
        const Bytes bytes(serialized);
        return plugin_object(self.deserializePlugin(name, bytes.data(), bytes.size()));
      },
      arg("name"), arg("serialized_plugin"));
#if NV_TENSORRT_MAJOR >= 10
  nb::class_<IPluginV3>(module, "IPluginV3");
  auto three = creator_class<IPluginCreatorV3One>(module, "IPluginCreatorV3One");
  three.def(
      "create_plugin",
      [](IPluginCreatorV3One& self, const char* name, const Fields& fields, TensorRTPhase phase) {
        const Collection collection(fields.list);
        return self.createPlugin(name, &collection.all, phase);
      },
      arg("name"), arg("field_collection"), arg("phase"), nb::rv_policy::take_ownership);
#endif
}

template <class T>
std::vector<T*> listed(T* const* items, int32_t count) {
  return items == nullptr ? std::vector<T*>() : std::vector<T*>(items, items + count);
}

std::vector<IPluginCreator*> creators_of(const IPluginRegistry& self) {
  int32_t count = 0;
  IPluginCreator* const* creators = self.getPluginCreatorList(&count);
  return listed(creators, count);
}

#if NV_TENSORRT_MAJOR >= 10
// As what it says that it is.
nb::object creator_object(IPluginCreatorInterface* creator) {
  if (creator == nullptr) return nb::none();
  const std::string kind = text_of(creator->getInterfaceInfo().kind);
  if (kind == "PLUGIN CREATOR_V1")
    return nb::cast(static_cast<IPluginCreator*>(creator), nb::rv_policy::reference);
  if (kind == "PLUGIN CREATOR_V3ONE")
    return nb::cast(static_cast<IPluginCreatorV3One*>(creator), nb::rv_policy::reference);
  return nb::cast(creator, nb::rv_policy::reference);
}

nb::list all_creators(const IPluginRegistry& self) {
  int32_t count = 0;
  nb::list list;
  IPluginCreatorInterface* const* creators = self.getAllCreators(&count);
  for (IPluginCreatorInterface* creator : listed(creators, count))
    list.append(creator_object(creator));
  return list;
}
#endif

void add_registry(nb::module_& module) {
  using R = IPluginRegistry;
  nb::class_<R> type(module, "IPluginRegistry");
  type.def_prop_ro("plugin_creator_list", &creators_of, nb::rv_policy::reference)
      .def(
          "get_plugin_creator",
          [](R& self, const char* kind, const char* version, const char* space) {
            return self.getPluginCreator(kind, version, space);
          },
          arg("type"), arg("version"), arg("plugin_namespace") = "", nb::rv_policy::reference)
      .def(
          "load_library",
          [](R& self, const char* path) { return number_of(self.loadLibrary(path)); },
          arg("plugin_path"))
      .def(
          "deregister_library",
          [](R& self, nb::handle handle) { self.deregisterLibrary(pointer_of(handle)); },
          arg("handle"))
      .def_prop_rw("parent_search_enabled", &R::isParentSearchEnabled, &R::setParentSearchEnabled);
#if NV_TENSORRT_MAJOR >= 10
  type.def_prop_ro("all_creators", &all_creators)
      .def(
          "get_creator",
          [](R& self, const char* kind, const char* version, const char* space) {
            return creator_object(self.getCreator(kind, version, space));
          },
          arg("type"), arg("version"), arg("plugin_namespace") = "");
#endif
  module.def("get_plugin_registry", &getPluginRegistry, nb::rv_policy::reference);
}

INetworkDefinition& network_of(nb::handle self) { return nb::cast<INetworkDefinition&>(self); }

void add_layers_of_plugins(nb::module_& module) {
  LayerClass<IPluginV2Layer>(module, "IPluginV2Layer");
  auto network = nb::borrow<nb::class_<INetworkDefinition>>(module.attr("INetworkDefinition"));
  network.def(
      "add_plugin_v2",
      [](nb::handle self, const std::vector<ITensor*>& inputs, const PluginV2& plugin) {
        return layer_object(
            self, network_of(self).addPluginV2(inputs.data(), static_cast<int32_t>(inputs.size()),
                                               *plugin.plugin));
      },
      arg("inputs"), arg("plugin"));
#if NV_TENSORRT_MAJOR >= 10
  LayerClass<IPluginV3Layer>(module, "IPluginV3Layer");
  using Tensors = std::vector<ITensor*>;
  network.def(
      "add_plugin_v3",
      [](nb::handle self, const Tensors& inputs, const Tensors& shapes, IPluginV3& plugin) {
        return layer_object(self, network_of(self).addPluginV3(
                                      inputs.data(), static_cast<int32_t>(inputs.size()),
                                      shapes.data(), static_cast<int32_t>(shapes.size()), plugin));
      },
      arg("inputs"), arg("shape_inputs"), arg("plugin"));
#endif
}

}  // namespace

void add_plugins(nb::module_& module) {
  add_fields(module);
  add_creators(module);
  add_registry(module);
  add_layers_of_plugins(module);
}

}  // namespace octet_trt_python
