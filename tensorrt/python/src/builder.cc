// SPDX-License-Identifier: Apache-2.0
#include "holders.h"

namespace octet_trt_python {
namespace {

using BuilderHolder = Holder<IBuilder>;

INetworkDefinition* create_network(BuilderHolder& self, uint32_t flags) {
  return self.get().createNetworkV2(flags);
}

IHostMemory* build_serialized(BuilderHolder& self, INetworkDefinition& network,
                              IBuilderConfig& config) {
  return self.get().buildSerializedNetwork(network, config);
}

ICudaEngine* build_engine(BuilderHolder& self, INetworkDefinition& network,
                          IBuilderConfig& config) {
  return self.get().buildEngineWithConfig(network, config);
}

void add_builds(HolderClass<IBuilder>& type) {
  type.def("create_network", &create_network, nb::arg("flags") = 0, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>());
  type.call("create_builder_config", &IBuilder::createBuilderConfig, nb::rv_policy::take_ownership,
            nb::keep_alive<0, 1>());
  type.call("create_optimization_profile", &IBuilder::createOptimizationProfile,
            nb::rv_policy::reference, nb::keep_alive<0, 1>());
  type.def("build_serialized_network", &build_serialized, nb::arg("network"), nb::arg("config"),
           Unlocked(), nb::rv_policy::take_ownership);
  type.def(NV_TENSORRT_MAJOR >= 10 ? "build_engine_with_config" : "build_engine", &build_engine,
           nb::arg("network"), nb::arg("config"), Unlocked(), nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>());
  type.call("is_network_supported", &IBuilder::isNetworkSupported, nb::arg("network"),
            nb::arg("config"));
#if NV_TENSORRT_MAJOR >= 10
  type.call("build_serialized_network_to_stream", &IBuilder::buildSerializedNetworkToStream,
            nb::arg("network"), nb::arg("config"), nb::arg("writer"), Unlocked());
#endif
}

// The memory of a plan or a timing cache, as bytes that are not copied.
int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  const IHostMemory* memory = nb::inst_ptr<IHostMemory>(object);
  return PyBuffer_FillInfo(view, object, memory->data(), static_cast<Py_ssize_t>(memory->size()), 1,
                           flags);
}

void add_host_memory(nb::module_& module) {
  static const PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                                      {0, nullptr}};
  nb::class_<IHostMemory> type(module, "IHostMemory", nb::type_slots(slots));
  type.def_prop_ro("nbytes", &IHostMemory::size).def_prop_ro("dtype", &IHostMemory::type);
  add_with(type);
}

}  // namespace

void add_builder(nb::module_& module) {
  add_host_memory(module);
  HolderClass<IBuilder> type(module, "Builder");
  type.def(
      "__init__",
      [](BuilderHolder* self, ILogger& logger) {
        new (self) BuilderHolder(createInferBuilder(logger));
        keep_first(logger);
      },
      nb::arg("logger"), nb::keep_alive<1, 2>());
  add_builds(type);
  type.read("platform_has_tf32", &IBuilder::platformHasTf32)
      .read("platform_has_fast_fp16", &IBuilder::platformHasFastFp16)
      .read("platform_has_fast_int8", &IBuilder::platformHasFastInt8)
      .read("num_DLA_cores", &IBuilder::getNbDLACores)
      .read("max_DLA_batch_size", &IBuilder::getMaxDLABatchSize)
      .write("max_threads", &IBuilder::getMaxThreads, &IBuilder::setMaxThreads)
      .listener("error_recorder", &IBuilder::getErrorRecorder, &IBuilder::setErrorRecorder)
      .call("reset", &IBuilder::reset)
      .call("get_plugin_registry", &IBuilder::getPluginRegistry, nb::rv_policy::reference);
  type.def_prop_ro(
      "logger", [](const BuilderHolder& self) { return self.get().getLogger(); },
      nb::rv_policy::reference);
#if NV_TENSORRT_MAJOR < 10
  type.write("max_batch_size", &IBuilder::getMaxBatchSize, &IBuilder::setMaxBatchSize);
#endif
  type.def_prop_rw(
      "gpu_allocator", [](const BuilderHolder&) { return nb::none(); },
      [](BuilderHolder& self, IGpuAllocator* allocator) { self.get().setGpuAllocator(allocator); },
      nb::for_setter(nb::keep_alive<1, 2>()), nb::for_setter(nb::arg("allocator").none()));
}

}  // namespace octet_trt_python
