// SPDX-License-Identifier: Apache-2.0
#include "module.h"

namespace octet_trt_python {
namespace {

using E = ICudaEngine;
using Class = nb::class_<E>;
using nb::arg;

void add_tensors(Class& type) {
  type.def_prop_ro("num_io_tensors", &E::getNbIOTensors)
      .def(
          "get_tensor_name",
          [](const E& self, int32_t i) { return text_of(self.getIOTensorName(i)); }, arg("index"))
      .def("get_tensor_mode", &E::getTensorIOMode, arg("name"))
      .def("get_tensor_shape", &E::getTensorShape, arg("name"))
      .def("get_tensor_dtype", &E::getTensorDataType, arg("name"))
      .def("get_tensor_location", &E::getTensorLocation, arg("name"))
      .def("is_shape_inference_io", &E::isShapeInferenceIO, arg("name"))
      .def("get_tensor_bytes_per_component",
           nb::overload_cast<const char*>(&E::getTensorBytesPerComponent, nb::const_), arg("name"))
      .def("get_tensor_bytes_per_component",
           nb::overload_cast<const char*, int32_t>(&E::getTensorBytesPerComponent, nb::const_),
           arg("name"), arg("profile_index"))
      .def("get_tensor_components_per_element",
           nb::overload_cast<const char*>(&E::getTensorComponentsPerElement, nb::const_),
           arg("name"))
      .def("get_tensor_components_per_element",
           nb::overload_cast<const char*, int32_t>(&E::getTensorComponentsPerElement, nb::const_),
           arg("name"), arg("profile_index"))
      .def("get_tensor_format", nb::overload_cast<const char*>(&E::getTensorFormat, nb::const_),
           arg("name"))
      .def("get_tensor_format",
           nb::overload_cast<const char*, int32_t>(&E::getTensorFormat, nb::const_), arg("name"),
           arg("profile_index"))
      .def("get_tensor_format_desc",
           nb::overload_cast<const char*>(&E::getTensorFormatDesc, nb::const_), arg("name"))
      .def("get_tensor_format_desc",
           nb::overload_cast<const char*, int32_t>(&E::getTensorFormatDesc, nb::const_),
           arg("name"), arg("profile_index"))
      .def("get_tensor_vectorized_dim",
           nb::overload_cast<const char*>(&E::getTensorVectorizedDim, nb::const_), arg("name"))
      .def("get_tensor_vectorized_dim",
           nb::overload_cast<const char*, int32_t>(&E::getTensorVectorizedDim, nb::const_),
           arg("name"), arg("profile_index"));
}

// Smallest, best and largest sizes of an input.
nb::list profile_shape(const E& self, const char* name, int32_t profile) {
  nb::list shapes;
  for (const auto select :
       {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    shapes.append(self.getProfileShape(name, profile, select));
  return shapes;
}

void add_profiles(Class& type) {
  type.def_prop_ro("num_optimization_profiles", &E::getNbOptimizationProfiles)
      .def("get_tensor_profile_shape", &profile_shape, arg("name"), arg("profile_index"))
      .def(
          "get_tensor_profile_values",
          [](const E& self, int32_t profile, const char* name) {
            nb::list values;
            const Dims shape = self.getTensorShape(name);
            const int64_t count = shape.nbDims == 0 ? 1 : shape.d[0];
            for (const auto select :
                 {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
              const int32_t* given = self.getProfileTensorValues(name, profile, select);
              if (given == nullptr || count < 0) return nb::list();
              values.append(nb::cast(std::vector<int32_t>(given, given + count)));
            }
            return values;
          },
          arg("profile_index"), arg("name"));
}

void add_facts(Class& type) {
  type.def_prop_ro("name", [](const E& self) { return text_of(self.getName()); })
      .def_prop_ro("num_layers", &E::getNbLayers)
      .def_prop_ro("refittable", &E::isRefittable)
      .def_prop_ro("has_implicit_batch_dimension", &E::hasImplicitBatchDimension)
      .def_prop_ro("engine_capability", &E::getEngineCapability)
      .def_prop_ro("tactic_sources", &E::getTacticSources)
      .def_prop_ro("profiling_verbosity", &E::getProfilingVerbosity)
      .def_prop_ro("hardware_compatibility_level", &E::getHardwareCompatibilityLevel)
      .def_prop_ro("num_aux_streams", &E::getNbAuxStreams)
      .def_prop_ro("device_memory_size", &E::getDeviceMemorySize)
      .def_prop_rw("error_recorder", &E::getErrorRecorder, &E::setErrorRecorder,
                   nb::for_getter(nb::rv_policy::reference), nb::for_setter(nb::keep_alive<1, 2>()),
                   nb::for_setter(arg("recorder").none()))
      .def("serialize", &E::serialize, nb::rv_policy::take_ownership)
      .def("create_engine_inspector", &E::createEngineInspector, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def("create_execution_context_without_device_memory",
           &E::createExecutionContextWithoutDeviceMemory, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>());
}

// engine[0], engine[-1], and by them `for name in engine`, at both levels. With several profiles level 8 counts the bindings of each.
const char* name_at(const E& self, int32_t index) {
#if NV_TENSORRT_MAJOR >= 10
  const int32_t count = self.getNbIOTensors();
#else
  const int32_t count = self.getNbBindings();
#endif
  const int32_t at = index < 0 ? count + index : index;
  if (at < 0 || at >= count) throw nb::index_error("the engine has no such input or output");
#if NV_TENSORRT_MAJOR >= 10
  return self.getIOTensorName(at);
#else
  return self.getBindingName(at);
#endif
}

#if NV_TENSORRT_MAJOR >= 10
void add_level(Class& type) {
  using Strategy = ExecutionContextAllocationStrategy;
  type.def("create_execution_context", nb::overload_cast<Strategy>(&E::createExecutionContext),
           arg("strategy") = Strategy::kSTATIC, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def("create_execution_context",
           nb::overload_cast<IRuntimeConfig*>(&E::createExecutionContext), arg("runtime_config"),
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def("create_runtime_config", &E::createRuntimeConfig, nb::rv_policy::take_ownership)
      .def("create_serialization_config", &E::createSerializationConfig,
           nb::rv_policy::take_ownership)
      .def("serialize_with_config", &E::serializeWithConfig, arg("config"),
           nb::rv_policy::take_ownership)
      .def_prop_ro("device_memory_size_v2", &E::getDeviceMemorySizeV2)
      .def("get_device_memory_size_for_profile", &E::getDeviceMemorySizeForProfile,
           arg("profile_index"))
      .def("get_device_memory_size_for_profile_v2", &E::getDeviceMemorySizeForProfileV2,
           arg("profile_index"))
      .def("is_debug_tensor", &E::isDebugTensor, arg("name"))
      .def("get_aliased_input_tensor", &E::getAliasedInputTensor, arg("name"))
      .def_prop_ro("streamable_weights_size", &E::getStreamableWeightsSize)
      .def_prop_rw("weight_streaming_budget", &E::getWeightStreamingBudget,
                   &E::setWeightStreamingBudget)
      .def_prop_ro("minimum_weight_streaming_budget", &E::getMinimumWeightStreamingBudget)
      .def_prop_rw("weight_streaming_budget_v2", &E::getWeightStreamingBudgetV2,
                   &E::setWeightStreamingBudgetV2)
      .def("get_weight_streaming_automatic_budget", &E::getWeightStreamingAutomaticBudget)
      .def_prop_ro("weight_streaming_scratch_memory_size", &E::getWeightStreamingScratchMemorySize);
}
#else
// Bindings are asked for by number or by name.
int32_t binding_of(const E& self, nb::handle key) {
  const int32_t index = nb::isinstance<nb::str>(key)
                            ? self.getBindingIndex(nb::cast<const char*>(key))
                            : nb::cast<int32_t>(key);
  if (index < 0 || index >= self.getNbBindings())
    throw nb::index_error("the engine has no such binding");
  return index;
}

template <class Get>
void add_binding(Class& type, const char* name, Get get) {
  type.def(
      name, [get](const E& self, nb::handle key) { return (self.*get)(binding_of(self, key)); },
      arg("index"));
}

void add_bindings(Class& type) {
  type.def_prop_ro("num_bindings", &E::getNbBindings)
      .def_prop_ro("max_batch_size", &E::getMaxBatchSize)
      .def("get_binding_index", &E::getBindingIndex, arg("name"))
      .def("__len__", &E::getNbBindings)
      .def("__getitem__",
           [](const E& self, const char* name) { return binding_of(self, nb::str(name)); });
  add_binding(type, "get_binding_name", &E::getBindingName);
  add_binding(type, "binding_is_input", &E::bindingIsInput);
  add_binding(type, "get_binding_shape", &E::getBindingDimensions);
  add_binding(type, "get_binding_dtype", &E::getBindingDataType);
  add_binding(type, "get_binding_format", &E::getBindingFormat);
  add_binding(type, "get_binding_format_desc", &E::getBindingFormatDesc);
  add_binding(type, "get_binding_vectorized_dim", &E::getBindingVectorizedDim);
  add_binding(type, "get_binding_bytes_per_component", &E::getBindingBytesPerComponent);
  add_binding(type, "get_binding_components_per_element", &E::getBindingComponentsPerElement);
  add_binding(type, "get_location", &E::getLocation);
  add_binding(type, "is_shape_binding", &E::isShapeBinding);
  add_binding(type, "is_execution_binding", &E::isExecutionBinding);
}

void add_level(Class& type) {
  add_bindings(type);
  type.def("create_execution_context", &E::createExecutionContext, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>());
  type.def(
      "get_profile_shape",
      [](const E& self, int32_t profile, nb::handle binding) {
        return profile_shape(self, self.getBindingName(binding_of(self, binding)), profile);
      },
      arg("profile_index"), arg("binding"));
}
#endif

}  // namespace

void add_engine(nb::module_& module) {
  Class type(module, "ICudaEngine");
  add_with(type);
  add_tensors(type);
  add_profiles(type);
  add_facts(type);
  type.def("__getitem__", &name_at, arg("index"));
  add_level(type);
}

}  // namespace octet_trt_python
