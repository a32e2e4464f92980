// SPDX-License-Identifier: Apache-2.0
// Runtimes, and what looks into engines.
#include "holders.h"

namespace octet_trt_python {
namespace {

using RuntimeHolder = Holder<IRuntime>;

ICudaEngine* deserialize(RuntimeHolder& self, nb::handle plan) {
  const Bytes bytes(plan);
  const nb::gil_scoped_release unlocked;
  return self.get().deserializeCudaEngine(bytes.data(), bytes.size());
}

void add_inspector(nb::module_& module) {
  nb::class_<IEngineInspector> type(module, "EngineInspector");
  type.def(
          "get_layer_information",
          [](const IEngineInspector& self, int32_t layer, LayerInformationFormat format) {
            return std::string(text_of(self.getLayerInformation(layer, format)));
          },
          nb::arg("layer_index"), nb::arg("format"))
      .def(
          "get_engine_information",
          [](const IEngineInspector& self, LayerInformationFormat format) {
            return std::string(text_of(self.getEngineInformation(format)));
          },
          nb::arg("format"))
      .def_prop_rw(
          "execution_context",
          [](const IEngineInspector& self) {
            return const_cast<IExecutionContext*>(self.getExecutionContext());
          },
          [](IEngineInspector& self, const IExecutionContext* context) {
            self.setExecutionContext(context);
          },
          nb::for_getter(nb::rv_policy::reference), nb::for_setter(nb::keep_alive<1, 2>()),
          nb::for_setter(nb::arg("context").none()))
      .def_prop_rw("error_recorder", &IEngineInspector::getErrorRecorder,
                   &IEngineInspector::setErrorRecorder, nb::for_getter(nb::rv_policy::reference),
                   nb::for_setter(nb::keep_alive<1, 2>()),
                   nb::for_setter(nb::arg("recorder").none()));
  add_with(type);
}

#if NV_TENSORRT_MAJOR >= 10
void add_configs(nb::module_& module) {
  nb::class_<ISerializationConfig>(module, "ISerializationConfig")
      .def_prop_rw("flags", &ISerializationConfig::getFlags, &ISerializationConfig::setFlags)
      .def("set_flag", &ISerializationConfig::setFlag, nb::arg("flag"))
      .def("clear_flag", &ISerializationConfig::clearFlag, nb::arg("flag"))
      .def("get_flag", &ISerializationConfig::getFlag, nb::arg("flag"));
  nb::class_<IRuntimeConfig> config(module, "IRuntimeConfig");
  config
      .def("set_execution_context_allocation_strategy",
           &IRuntimeConfig::setExecutionContextAllocationStrategy, nb::arg("strategy"))
      .def("get_execution_context_allocation_strategy",
           &IRuntimeConfig::getExecutionContextAllocationStrategy);
}
#endif

void add_settings(HolderClass<IRuntime>& type) {
  type.write("DLA_core", &IRuntime::getDLACore, &IRuntime::setDLACore)
      .read("num_DLA_cores", &IRuntime::getNbDLACores)
      .write("max_threads", &IRuntime::getMaxThreads, &IRuntime::setMaxThreads)
      .write("tempfile_control_flags", &IRuntime::getTempfileControlFlags,
             &IRuntime::setTempfileControlFlags)
      .write("temporary_directory", &IRuntime::getTemporaryDirectory,
             &IRuntime::setTemporaryDirectory)
      .write("engine_host_code_allowed", &IRuntime::getEngineHostCodeAllowed,
             &IRuntime::setEngineHostCodeAllowed)
      .listener("error_recorder", &IRuntime::getErrorRecorder, &IRuntime::setErrorRecorder)
      .call("get_plugin_registry", &IRuntime::getPluginRegistry, nb::rv_policy::reference);
}

}  // namespace

void add_runtime(nb::module_& module) {
  HolderClass<IRuntime> type(module, "Runtime");
  type.def(
      "__init__",
      [](RuntimeHolder* self, ILogger& logger) {
        new (self) RuntimeHolder(createInferRuntime(logger));
        keep_first(logger);
      },
      nb::arg("logger"), nb::keep_alive<1, 2>());
#if NV_TENSORRT_MAJOR >= 10
  type.def(
      "deserialize_cuda_engine",
      [](RuntimeHolder& self, IStreamReader& reader) {
        return self.get().deserializeCudaEngine(reader);
      },
      nb::arg("stream_reader"), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
      nb::call_guard<nb::gil_scoped_release>());
  type.def(
      "deserialize_cuda_engine",
      [](RuntimeHolder& self, IStreamReaderV2& reader) {
        return self.get().deserializeCudaEngine(reader);
      },
      nb::arg("stream_reader_v2"), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
      nb::call_guard<nb::gil_scoped_release>());
  add_configs(module);
#endif
  // The last: it takes whatever has bytes, and says what has none.
  type.def("deserialize_cuda_engine", &deserialize, nb::arg("serialized_engine"),
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>());
  add_settings(type);
  type.def_prop_ro(
      "logger", [](const RuntimeHolder& self) { return self.get().getLogger(); },
      nb::rv_policy::reference);
  type.def_prop_rw(
      "gpu_allocator", [](const RuntimeHolder&) { return nb::none(); },
      [](RuntimeHolder& self, IGpuAllocator* allocator) { self.get().setGpuAllocator(allocator); },
      nb::for_setter(nb::keep_alive<1, 2>()), nb::for_setter(nb::arg("allocator").none()));
  add_inspector(module);
}

}  // namespace octet_trt_python
