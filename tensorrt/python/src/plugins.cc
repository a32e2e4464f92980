// SPDX-License-Identifier: Apache-2.0
// The registry of plugins, as far as programs ask it.
#include "module.h"

namespace octet_trt_python {
namespace {

std::vector<IPluginCreator*> creators_of(const IPluginRegistry& self) {
  int32_t count = 0;
  IPluginCreator* const* creators = self.getPluginCreatorList(&count);
  return creators == nullptr ? std::vector<IPluginCreator*>()
                             : std::vector<IPluginCreator*>(creators, creators + count);
}

}  // namespace

void add_plugins(nb::module_& module) {
  nb::class_<IPluginCreator>(module, "IPluginCreator")
      .def_prop_ro("name", [](const IPluginCreator& self) { return text_of(self.getPluginName()); })
      .def_prop_ro("plugin_version",
                   [](const IPluginCreator& self) { return text_of(self.getPluginVersion()); })
      .def_prop_ro("plugin_namespace",
                   [](const IPluginCreator& self) { return text_of(self.getPluginNamespace()); });
  nb::class_<IPluginRegistry>(module, "IPluginRegistry")
      .def_prop_ro("plugin_creator_list", &creators_of, nb::rv_policy::reference)
      .def(
          "get_plugin_creator",
          [](IPluginRegistry& self, const char* type, const char* version, const char* space) {
            return self.getPluginCreator(type, version, space);
          },
          nb::arg("type"), nb::arg("version"), nb::arg("plugin_namespace") = "",
          nb::rv_policy::reference)
      .def_prop_rw("parent_search_enabled", &IPluginRegistry::isParentSearchEnabled,
                   &IPluginRegistry::setParentSearchEnabled);
  module.def("get_plugin_registry", &getPluginRegistry, nb::rv_policy::reference);
}

}  // namespace octet_trt_python
