// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/object.h"

#include <algorithm>

#include "tensorrt/plugins/fields.h"
#include "tensorrt/plugins/registry.h"

namespace octet_trt {

std::vector<PluginTensorDesc> PluginIo::descs() const {
  std::vector<PluginTensorDesc> descs;
  for (const DynamicPluginTensorDesc& tensor : tensors) descs.push_back(tensor.desc);
  return descs;
}

DynamicPluginTensorDesc describe(const Dims& dims, DataType type, TensorFormat format,
                                 float scale) {
  DynamicPluginTensorDesc desc{};
  desc.desc = {dims, type, format, scale};
  desc.min = desc.max = dims;
#if NV_TENSORRT_MAJOR >= 10
  desc.opt = dims;
#endif
  return desc;
}

bool same(const PluginIo& a, const PluginIo& b) {
  const auto equals = [](const DynamicPluginTensorDesc& x, const DynamicPluginTensorDesc& y) {
    return equal(x.desc.dims, y.desc.dims) && x.desc.type == y.desc.type &&
           x.desc.format == y.desc.format && x.desc.scale == y.desc.scale;
  };
  return a.inputs == b.inputs && b.batch <= a.batch &&
         std::ranges::equal(a.tensors, b.tensors, equals);
}

void plugin_failed(const PluginName& name, const std::string& what) {
  throw octet::Error(octet::Error::Code::unsupported, name.text() + ": " + what);
}

namespace {

[[noreturn]] void no_creator(const PluginName& name) {
  throw octet::Error(octet::Error::Code::unsupported,
                     "getPluginCreator could not find plugin: " + name.type +
                         " version: " + name.version + " namespace: '" + name.space +
                         "'; register its creator before (REGISTER_TENSORRT_PLUGIN, "
                         "registerCreator() or loadLibrary())");
}

// Plugins learn their namespace from us, and are never asked for it: careless ones copy a pointer that nobody set.
std::unique_ptr<PluginObject> with_namespace(IPluginV2* plugin, const PluginName& name,
                                             const char* maker) {
  std::unique_ptr<PluginObject> object = adopt(plugin, name, maker);
  ask_plugin(name, "setPluginNamespace()",
             [&] { plugin->setPluginNamespace(kept_text(name.space)); });
  return object;
}

#if NV_TENSORRT_MAJOR >= 10
// Asks a creator of either kind for a plugin. Quick ones are run by what they enqueue; kernels that were compiled ahead are not launched.
struct V3Maker {
  const FoundCreator& creator;
  const PluginName& name;
  const std::string& layer;
  const PluginFieldCollection& fields;

  IPluginV3* operator()(TensorRTPhase phase) const {
    return ask_plugin(name, "createPlugin()", [&] {
      if (creator.v3 != nullptr) return creator.v3->createPlugin(layer.c_str(), &fields, phase);
      return creator.quick->createPlugin(name.type.c_str(), name.space.c_str(), &fields, phase,
                                         QuickPluginCreationRequest::kSTRICT_JIT);
    });
  }
};
#endif

}  // namespace

std::unique_ptr<PluginObject> create_plugin(const PluginName& name, const std::string& layer,
                                            const PluginFieldCollection& fields) {
  const FoundCreator found = find_creator(name);
  if (found.v2 != nullptr) {
    IPluginV2* plugin = ask_plugin(name, "createPlugin()",
                                   [&] { return found.v2->createPlugin(layer.c_str(), &fields); });
    return with_namespace(plugin, name, "createPlugin()");
  }
#if NV_TENSORRT_MAJOR >= 10
  if (found.is_v3()) {
    const V3Maker make{found, name, layer, fields};
    return adopt(make(TensorRTPhase::kBUILD), name, "createPlugin()");
  }
#endif
  no_creator(name);
}

std::unique_ptr<PluginObject> deserialize_plugin(const PluginName& name, const std::string& layer,
                                                 std::string_view state) {
  const FoundCreator found = find_creator(name);
  if (found.v2 != nullptr) {
    IPluginV2* plugin = ask_plugin(name, "deserializePlugin()", [&] {
      return found.v2->deserializePlugin(layer.c_str(), state.data(), state.size());
    });
    return with_namespace(plugin, name, "deserializePlugin()");
  }
#if NV_TENSORRT_MAJOR >= 10
  if (found.is_v3()) {
    const FieldStore fields = read_fields(state);
    const PluginFieldCollection collection = fields.collection();
    const V3Maker make{found, name, layer, collection};
    return adopt_runtime(make(TensorRTPhase::kRUNTIME), name,
                         [&] { return make(TensorRTPhase::kBUILD); });
  }
#endif
  no_creator(name);
}

}  // namespace octet_trt
