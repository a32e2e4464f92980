// SPDX-License-Identifier: Apache-2.0
// Plugins that are written in Python, as the library calls them. Level 10 has them.
#pragma once

#include <memory>

#include "plugin_fields.h"

#if NV_TENSORRT_MAJOR >= 10
namespace octet_trt_python {

// Objects of Python behind the library's classes: they keep the object, take the interpreter's lock for each call, and throw what it raises
// as text. The library ends them as it ends any plugin.
IPluginV2* make_python_plugin_v2(nb::object plugin);
IPluginV3* make_python_plugin_v3(nb::object plugin);

// What their methods are told: descriptions of tensors, sizes as expressions, the parts of IPluginV3.
void add_plugin_values(nb::module_& module);

// What plugins share, and the registry's functions for it.
void add_plugin_resources(nb::module_& module, nb::class_<IPluginRegistry>& registry);

}  // namespace octet_trt_python
#endif
