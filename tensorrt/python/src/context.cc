// SPDX-License-Identifier: Apache-2.0
#include "module.h"

namespace octet_trt_python {
namespace {

using C = IExecutionContext;
using Class = nb::class_<C>;
using nb::arg;

cudaStream_t stream_of(nb::handle number) { return static_cast<cudaStream_t>(pointer_of(number)); }

std::vector<void*> pointers_of(const nb::sequence& numbers) {
  std::vector<void*> pointers;
  for (const nb::handle number : nb::iter(numbers)) pointers.push_back(pointer_of(number));
  return pointers;
}

// As many addresses as the engine has inputs and outputs: fewer would be read beyond.
std::vector<void*> bindings_of(const C& self, const nb::sequence& numbers) {
  std::vector<void*> bindings;
  for (const nb::handle number : nb::iter(numbers))
    bindings.push_back(address_of(number, "bindings"));
  const auto needed = static_cast<size_t>(self.getEngine().getNbIOTensors());
  if (bindings.size() < needed) {
    throw nb::value_error(("bindings has " + std::to_string(bindings.size()) +
                           " addresses; the engine has " + std::to_string(needed) +
                           " inputs and outputs")
                              .c_str());
  }
  return bindings;
}

bool execute(C& self, const nb::sequence& numbers) {
  const auto bindings = bindings_of(self, numbers);
  const nb::gil_scoped_release unlocked;
  return self.executeV2(bindings.data());
}

bool enqueue(C& self, nb::handle number) {
  cudaStream_t stream = stream_of(number);
  const nb::gil_scoped_release unlocked;
  return self.enqueueV3(stream);
}

std::vector<std::string> infer_shapes(C& self) {
  std::vector<const char*> names(static_cast<size_t>(self.getEngine().getNbIOTensors()));
  const int32_t count = self.inferShapes(static_cast<int32_t>(names.size()), names.data());
  if (count < 0)
    throw nb::value_error("the shapes of outputs could not be inferred; the log says why");
  return {names.begin(), names.begin() + std::min(count, static_cast<int32_t>(names.size()))};
}

void add_tensors(Class& type) {
  type.def(
          "set_tensor_address",
          [](C& self, const char* name, nb::handle memory) {
            return self.setTensorAddress(name, address_of(memory, name));
          },
          arg("name"), arg("memory"))
      .def(
          "get_tensor_address",
          [](const C& self, const char* name) { return number_of(self.getTensorAddress(name)); },
          arg("name"))
      .def("set_input_shape", &C::setInputShape, arg("name"), arg("shape"), Unlocked())
      .def("get_tensor_shape", &C::getTensorShape, arg("name"), Unlocked())
      .def("get_tensor_strides", &C::getTensorStrides, arg("name"), Unlocked())
      .def("set_output_allocator", &C::setOutputAllocator, arg("name"),
           arg("output_allocator").none(), nb::keep_alive<1, 3>())
      .def("get_output_allocator", &C::getOutputAllocator, arg("name"), nb::rv_policy::reference)
      .def("get_max_output_size", &C::getMaxOutputSize, arg("name"), Unlocked())
      .def("infer_shapes", &infer_shapes, Unlocked())
      .def_prop_ro("all_binding_shapes_specified", &C::allInputDimensionsSpecified)
      .def_prop_ro("all_shape_inputs_specified", &C::allInputShapesSpecified);
}

void add_runs(Class& type) {
  type.def("execute_v2", &execute, arg("bindings"))
      .def("execute_async_v3", &enqueue, arg("stream_handle"))
      .def(
          "set_input_consumed_event",
          [](C& self, nb::handle event) {
            return self.setInputConsumedEvent(static_cast<cudaEvent_t>(pointer_of(event)));
          },
          arg("event"))
      .def("get_input_consumed_event",
           [](const C& self) { return number_of(self.getInputConsumedEvent()); })
      .def("report_to_profiler", &C::reportToProfiler)
      .def(
          "set_optimization_profile_async",
          [](C& self, int32_t profile, nb::handle stream) {
            return self.setOptimizationProfileAsync(profile, stream_of(stream));
          },
          arg("profile_index"), arg("stream_handle"))
      .def(
          "set_aux_streams",
          [](C& self, const nb::sequence& streams) {
            auto pointers = pointers_of(streams);
            self.setAuxStreams(reinterpret_cast<cudaStream_t*>(pointers.data()),
                               static_cast<int32_t>(pointers.size()));
          },
          arg("aux_streams"));
}

void add_facts(Class& type) {
  type.def_prop_ro(
          "engine", [](const C& self) { return const_cast<ICudaEngine*>(&self.getEngine()); },
          nb::rv_policy::reference)
      .def_prop_rw(
          "name", [](const C& self) { return text_of(self.getName()); }, &C::setName)
      .def_prop_rw("profiler", &C::getProfiler, &C::setProfiler,
                   nb::for_getter(nb::rv_policy::reference), nb::for_setter(nb::keep_alive<1, 2>()),
                   nb::for_setter(arg("profiler").none()))
      .def_prop_rw("error_recorder", &C::getErrorRecorder, &C::setErrorRecorder,
                   nb::for_getter(nb::rv_policy::reference), nb::for_setter(nb::keep_alive<1, 2>()),
                   nb::for_setter(arg("recorder").none()))
      .def_prop_rw("debug_sync", &C::getDebugSync, &C::setDebugSync)
      .def_prop_rw("enqueue_emits_profile", &C::getEnqueueEmitsProfile, &C::setEnqueueEmitsProfile)
      .def_prop_rw("nvtx_verbosity", &C::getNvtxVerbosity, &C::setNvtxVerbosity)
      .def_prop_rw("persistent_cache_limit", &C::getPersistentCacheLimit,
                   &C::setPersistentCacheLimit)
      .def_prop_rw(
          "device_memory", [](const C&) { return nb::none(); },
          [](C& self, nb::handle memory) { self.setDeviceMemory(pointer_of(memory)); });
}

#if NV_TENSORRT_MAJOR >= 10
void add_level(Class& type) {
  type.def_prop_ro("active_optimization_profile", &C::getOptimizationProfile)
      .def(
          "set_device_memory",
          [](C& self, nb::handle memory, int64_t size) {
            self.setDeviceMemoryV2(pointer_of(memory), size);
          },
          arg("memory"), arg("size"))
      .def("update_device_memory_size_for_shapes", &C::updateDeviceMemorySizeForShapes)
      .def("set_debug_listener", &C::setDebugListener, arg("listener").none(),
           nb::keep_alive<1, 2>())
      .def("get_debug_listener", &C::getDebugListener, nb::rv_policy::reference)
      .def("set_tensor_debug_state", &C::setTensorDebugState, arg("name"), arg("flag"))
      // No set_all_tensors_debug_state: by its presence Polygraphy knows that tensors can be watched.
      .def("get_debug_state", &C::getDebugState, arg("name"))
      .def_prop_rw("unfused_tensors_debug_state", &C::getUnfusedTensorsDebugState,
                   &C::setUnfusedTensorsDebugState);
}
#else
bool enqueue_v2(C& self, const nb::sequence& numbers, nb::handle stream_number, nb::handle) {
  const auto bindings = bindings_of(self, numbers);
  cudaStream_t stream = stream_of(stream_number);
  const nb::gil_scoped_release unlocked;
  return self.enqueueV2(bindings.data(), stream, nullptr);
}

bool execute_batch(C& self, int32_t batch, const nb::sequence& numbers) {
  const auto bindings = bindings_of(self, numbers);
  const nb::gil_scoped_release unlocked;
  return self.execute(batch, bindings.data());
}

bool enqueue_batch(C& self, int32_t batch, const nb::sequence& numbers, nb::handle stream_number,
                   nb::handle) {
  const auto bindings = bindings_of(self, numbers);
  cudaStream_t stream = stream_of(stream_number);
  const nb::gil_scoped_release unlocked;
  return self.enqueue(batch, bindings.data(), stream, nullptr);
}

void add_level(Class& type) {
  type.def_prop_rw("active_optimization_profile", &C::getOptimizationProfile,
                   &C::setOptimizationProfile)
      .def("execute", &execute_batch, arg("batch_size") = 1, arg("bindings") = nb::tuple())
      .def("execute_async", &enqueue_batch, arg("batch_size") = 1, arg("bindings") = nb::tuple(),
           arg("stream_handle") = 0, arg("input_consumed").none() = nb::none())
      .def("execute_async_v2", &enqueue_v2, arg("bindings"), arg("stream_handle"),
           arg("input_consumed").none() = nb::none())
      .def("set_binding_shape", &C::setBindingDimensions, arg("binding"), arg("shape"))
      .def("get_binding_shape", &C::getBindingDimensions, arg("binding"))
      .def("get_strides", &C::getStrides, arg("binding"));
}
#endif

}  // namespace

void add_context(nb::module_& module) {
  Class type(module, "IExecutionContext");
  add_with(type);
  add_tensors(type);
  add_runs(type);
  add_facts(type);
  add_level(type);
}

}  // namespace octet_trt_python
