// SPDX-License-Identifier: Apache-2.0
// Plugins of libraries and of Python: the registry, creators, and layers of them.
#include <memory>
#include <string>

#include "callbacks.h"
#include "layers.h"
#include "plugin_python.h"

namespace octet_trt_python {
namespace {

using nb::arg;

struct Destroy {
  void operator()(IPluginV2* plugin) const { plugin->destroy(); }
};
// Plugins of libraries are held; those of Python derive from what these derive from.
struct PluginV2 {};
struct LibraryPluginV2 : PluginV2 {
  std::unique_ptr<IPluginV2, Destroy> plugin;
};

template <class Plugin, class Held>
nb::object plugin_object(Held* made) {
  if (made == nullptr) return nb::none();
  Plugin plugin;
  plugin.plugin.reset(made);
  return nb::cast(std::move(plugin));
}

// Whether a class of Python's own is behind an object.
template <class Base>
bool is_derived(nb::handle object) {
  return !nb::type<Base>().is(object.type());
}

// What makes plugins where the creator is a library's.
template <class Creator>
Creator& maker(nb::handle self) {
  if (is_derived<Creator>(self))
    throw nb::type_error("create_plugin() and deserialize_plugin() are to be overridden");
  return nb::cast<Creator&>(self);
}

#if NV_TENSORRT_MAJOR >= 10
struct PluginV2Dynamic : PluginV2 {};
struct PluginV3 {};
struct LibraryPluginV3 : PluginV3 {
  std::unique_ptr<IPluginV3> plugin;
};

// Null where Python returned None.
IPluginV2* made_v2(const nb::object& plugin) {
  return plugin.is_none() ? nullptr : make_python_plugin_v2(plugin);
}
IPluginV3* made_v3(const nb::object& plugin) {
  return plugin.is_none() ? nullptr : make_python_plugin_v3(plugin);
}

// What creators of both classes have when they are derived in Python: what it assigns to them.
template <class Creator>
class PythonCreator : public Creator {
 public:
  NB_TRAMPOLINE(Creator);
  const AsciiChar* getPluginName() const override { return name.c_str(); }
  const AsciiChar* getPluginVersion() const override { return version.c_str(); }
  const AsciiChar* getPluginNamespace() const override { return space.c_str(); }
  const PluginFieldCollection* getFieldNames() override {
    return fields == nullptr ? nullptr : &fields->all;
  }
  void name_fields(const Fields& list) {
    named = list;
    fields = std::make_unique<Collection>(named.list);
  }

  std::string name, version, space;

 protected:
  template <class Use>
  auto made(const char* method, const Use& use) const {
    return with_python(this->nb_trampoline.base(), method,
                       [&](auto call) { return use(nb::object(call)); });
  }

 private:
  Fields named;
  std::unique_ptr<Collection> fields;
};

class PythonCreatorV2 final : public PythonCreator<IPluginCreator> {
 public:
  using PythonCreator::PythonCreator;
  void setPluginNamespace(const AsciiChar* of) override { space = text_of(of); }
  IPluginV2* createPlugin(const AsciiChar* layer, const PluginFieldCollection* given) override {
    return made("create_plugin", [&](const nb::object& call) {
      return made_v2(call(str_of(layer), filled_fields_of(given)));
    });
  }
  IPluginV2* deserializePlugin(const AsciiChar* layer, const void* data, size_t size) override {
    return made("deserialize_plugin", [&](const nb::object& call) {
      return made_v2(call(str_of(layer), nb::bytes(data, size)));
    });
  }
};

class PythonCreatorV3 final : public PythonCreator<IPluginCreatorV3One> {
 public:
  using PythonCreator::PythonCreator;
  IPluginV3* createPlugin(const AsciiChar* layer, const PluginFieldCollection* given,
                          TensorRTPhase phase) override {
    return made("create_plugin", [&](const nb::object& call) {
      return made_v3(call(str_of(layer), filled_fields_of(given), phase));
    });
  }
};

// A creator of a library keeps what it has; one of Python's classes is given its names.
template <class Creator, class Python>
nb::class_<Creator, IPluginCreatorInterface, Python> creator_class(nb::module_& module,
                                                                   const char* name) {
  nb::class_<Creator, IPluginCreatorInterface, Python> type(module, name);
  const auto own = [](nb::handle self) -> Python& {
    if (!is_derived<Creator>(self))
      throw nb::attribute_error("the creator of a library keeps its names");
    return static_cast<Python&>(nb::cast<Creator&>(self));
  };
  using Text = const std::string&;
  type.def(nb::init<>())
      .def_prop_rw(
          "name", [](const Creator& self) { return text_of(self.getPluginName()); },
          [own](nb::handle self, Text text) { own(self).name = text; })
      .def_prop_rw(
          "plugin_version", [](const Creator& self) { return text_of(self.getPluginVersion()); },
          [own](nb::handle self, Text text) { own(self).version = text; })
      .def_prop_rw(
          "plugin_namespace",
          [](const Creator& self) { return text_of(self.getPluginNamespace()); },
          [own](nb::handle self, Text text) { own(self).space = text; })
      .def_prop_rw(
          "field_names", [](Creator& self) { return fields_of(self.getFieldNames()); },
          [own](nb::handle self, const Fields& fields) { own(self).name_fields(fields); });
  return type;
}
#else
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
#endif

void add_creators(nb::module_& module) {
  nb::class_<IPluginCreatorInterface>(module, "IPluginCreatorInterface");
#if NV_TENSORRT_MAJOR >= 10
  auto creator = creator_class<IPluginCreator, PythonCreatorV2>(module, "IPluginCreator");
#else
  auto creator = creator_class<IPluginCreator>(module, "IPluginCreator");
#endif
  creator.def(
      "create_plugin",
      [](nb::handle self, const char* name, const Fields& fields) {
        const Collection collection(fields.list);
        return plugin_object<LibraryPluginV2>(
            maker<IPluginCreator>(self).createPlugin(name, &collection.all));
      },
      arg("name"), arg("field_collection"));
  creator.def(
      "deserialize_plugin",
      [](nb::handle self, const char* name, nb::handle serialized) {
        const Bytes bytes(serialized);
        return plugin_object<LibraryPluginV2>(
            maker<IPluginCreator>(self).deserializePlugin(name, bytes.data(), bytes.size()));
      },
      arg("name"), arg("serialized_plugin"));
#if NV_TENSORRT_MAJOR >= 10
  auto three = creator_class<IPluginCreatorV3One, PythonCreatorV3>(module, "IPluginCreatorV3One");
  three.def(
      "create_plugin",
      [](nb::handle self, const char* name, const Fields& fields, TensorRTPhase phase) {
        const Collection collection(fields.list);
        return plugin_object<LibraryPluginV3>(
            maker<IPluginCreatorV3One>(self).createPlugin(name, &collection.all, phase));
      },
      arg("name"), arg("field_collection"), arg("phase"));
#endif
}

void add_plugin_classes(nb::module_& module) {
  nb::class_<PluginV2>(module, "IPluginV2");
  nb::class_<LibraryPluginV2, PluginV2>(module, "LibraryPluginV2")
      .def_prop_ro(
          "plugin_type",
          [](const LibraryPluginV2& self) { return text_of(self.plugin->getPluginType()); })
      .def_prop_ro(
          "plugin_version",
          [](const LibraryPluginV2& self) { return text_of(self.plugin->getPluginVersion()); })
      .def_prop_ro("num_outputs",
                   [](const LibraryPluginV2& self) { return self.plugin->getNbOutputs(); });
#if NV_TENSORRT_MAJOR >= 10
  nb::class_<PluginV2Dynamic, PluginV2>(module, "IPluginV2DynamicExt").def(nb::init<>());
  nb::class_<PluginV3>(module, "IPluginV3").def(nb::init<>());
  nb::class_<LibraryPluginV3, PluginV3>(module, "LibraryPluginV3");
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

void add_creators_of_all_kinds(nb::class_<IPluginRegistry>& type) {
  using R = IPluginRegistry;
  // What is registered lives as long as the process: plans name it.
  type.def(
          "register_creator",
          [](R& self, nb::handle creator, const char* space) {
            const bool registered =
                self.registerCreator(nb::cast<IPluginCreatorInterface&>(creator), space);
            if (registered) creator.inc_ref();
            return registered;
          },
          arg("creator"), arg("plugin_namespace") = "")
      .def(
          "deregister_creator",
          [](R& self, const IPluginCreatorInterface& creator) {
            return self.deregisterCreator(creator);
          },
          arg("creator"))
      .def_prop_ro("all_creators", &all_creators)
      .def_prop_ro("all_creators_recursive", &all_creators)  // the registry has no parent
      .def(
          "get_creator",
          [](R& self, const char* kind, const char* version, const char* space) {
            return creator_object(self.getCreator(kind, version, space));
          },
          arg("type"), arg("version"), arg("plugin_namespace") = "");
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
      .def_prop_rw("error_recorder", &R::getErrorRecorder, &R::setErrorRecorder,
                   nb::for_getter(nb::rv_policy::reference), nb::for_setter(nb::keep_alive<1, 2>()),
                   nb::for_setter(arg("recorder").none()))
      .def_prop_rw("parent_search_enabled", &R::isParentSearchEnabled, &R::setParentSearchEnabled);
#if NV_TENSORRT_MAJOR >= 10
  add_creators_of_all_kinds(type);
  add_plugin_resources(module, type);
#endif
  module.def("get_plugin_registry", &getPluginRegistry, nb::rv_policy::reference);
#if NV_TENSORRT_MAJOR >= 10
  module.def("get_builder_plugin_registry", &getBuilderPluginRegistry, arg("capability"),
             nb::rv_policy::reference);
#endif
}

using Tensors = std::vector<ITensor*>;

INetworkDefinition& network_of(nb::handle self) { return nb::cast<INetworkDefinition&>(self); }

#if NV_TENSORRT_MAJOR >= 10
void add_layers_of_v3(nb::module_& module, nb::class_<INetworkDefinition>& network) {
  LayerClass<IPluginV3Layer>(module, "IPluginV3Layer");
  network.def(
      "add_plugin_v3",
      [](nb::handle self, const Tensors& inputs, const Tensors& shapes, nb::handle plugin) {
        const auto add = [&](IPluginV3& of) {
          return layer_object(self, network_of(self).addPluginV3(
                                        inputs.data(), static_cast<int32_t>(inputs.size()),
                                        shapes.data(), static_cast<int32_t>(shapes.size()), of));
        };
        if (nb::isinstance<LibraryPluginV3>(plugin))
          return add(*nb::cast<LibraryPluginV3&>(plugin).plugin);
        if (!nb::isinstance<PluginV3>(plugin)) throw nb::type_error("a plugin is expected");
        const std::unique_ptr<IPluginV3> python(make_python_plugin_v3(nb::borrow(plugin)));
        return add(*python);  // keeps a clone
      },
      arg("inputs"), arg("shape_inputs"), arg("plugin"));
  // What functions as plugins give (tensorrt.plugin.op) adds itself.
  network.def(
      "add_plugin",
      [](nb::handle self, const nb::callable& plugin, nb::handle aot) { return plugin(self, aot); },
      arg("tuple_func"), arg("aot").none() = nb::none());
}
#endif

void add_layers_of_plugins(nb::module_& module) {
  LayerClass<IPluginV2Layer>(module, "IPluginV2Layer");
  auto network = nb::borrow<nb::class_<INetworkDefinition>>(module.attr("INetworkDefinition"));
  network.def(
      "add_plugin_v2",
      [](nb::handle self, const Tensors& inputs, nb::handle plugin) {
        const auto add = [&](IPluginV2& of) {
          return layer_object(self, network_of(self).addPluginV2(
                                        inputs.data(), static_cast<int32_t>(inputs.size()), of));
        };
        if (nb::isinstance<LibraryPluginV2>(plugin))
          return add(*nb::cast<LibraryPluginV2&>(plugin).plugin);
#if NV_TENSORRT_MAJOR >= 10
        if (nb::isinstance<PluginV2Dynamic>(plugin)) {
          const std::unique_ptr<IPluginV2, Destroy> python(
              make_python_plugin_v2(nb::borrow(plugin)));
          return add(*python);  // keeps a clone
        }
#endif
        throw nb::type_error("a plugin is expected");
      },
      arg("inputs"), arg("plugin"));
#if NV_TENSORRT_MAJOR >= 10
  add_layers_of_v3(module, network);
#endif
}

}  // namespace

void add_plugins(nb::module_& module) {
  add_plugin_fields(module);
#if NV_TENSORRT_MAJOR >= 10
  add_plugin_values(module);
#endif
  add_plugin_classes(module);
  add_creators(module);
  add_registry(module);
  add_layers_of_plugins(module);
}

}  // namespace octet_trt_python
