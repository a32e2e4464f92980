// SPDX-License-Identifier: Apache-2.0
#include "holders.h"
#include "values.h"

namespace octet_trt_python {
namespace {

using H = Holder<IRefitter>;
using nb::arg;

template <class Get>
std::vector<std::string> names_of(IRefitter& refitter, Get get) {
  std::vector<const char*> names(static_cast<size_t>(std::max(0, (refitter.*get)(0, nullptr))));
  (refitter.*get)(static_cast<int32_t>(names.size()), names.data());
  return {names.begin(), names.end()};
}

// The layers, and the role of the weights of each.
template <class Get>
nb::tuple layers_of(IRefitter& refitter, Get get) {
  const auto count = static_cast<size_t>(std::max(0, (refitter.*get)(0, nullptr, nullptr)));
  std::vector<const char*> names(count);
  std::vector<WeightsRole> roles(count);
  (refitter.*get)(static_cast<int32_t>(count), names.data(), roles.data());
  return nb::make_tuple(nb::cast(std::vector<std::string>(names.begin(), names.end())),
                        nb::cast(roles));
}

void add_weights(HolderClass<IRefitter>& type) {
  type.def(
          "set_weights",
          [](H& self, const char* layer, WeightsRole role, nb::handle weights) {
            return self.get().setWeights(layer, role, weights_of(weights).weights);
          },
          arg("layer_name"), arg("role"), arg("weights"))
      .def(
          "set_named_weights",
          [](H& self, const char* name, nb::handle weights) {
            return self.get().setNamedWeights(name, weights_of(weights).weights);
          },
          arg("name"), arg("weights"))
      .def("get_missing", [](H& self) { return layers_of(self.get(), &IRefitter::getMissing); })
      .def("get_all", [](H& self) { return layers_of(self.get(), &IRefitter::getAll); })
      .def("get_missing_weights",
           [](H& self) { return names_of(self.get(), &IRefitter::getMissingWeights); })
      .def("get_all_weights",
           [](H& self) { return names_of(self.get(), &IRefitter::getAllWeights); });
}

void add_ranges(HolderClass<IRefitter>& type) {
  type.def(
          "set_dynamic_range",
          [](H& self, const char* name, const nb::sequence& range) {
            return self.get().setDynamicRange(name, nb::cast<float>(range[0]),
                                              nb::cast<float>(range[1]));
          },
          arg("tensor_name"), arg("range"))
      .def(
          "get_dynamic_range",
          [](const H& self, const char* name) {
            return nb::make_tuple(self.get().getDynamicRangeMin(name),
                                  self.get().getDynamicRangeMax(name));
          },
          arg("tensor_name"))
      .def("get_tensors_with_dynamic_range", [](const H& self) {
        return names_of(self.get(), &IRefitter::getTensorsWithDynamicRange);
      });
}

#if NV_TENSORRT_MAJOR >= 10
void add_level(HolderClass<IRefitter>& type) {
  type.def(
          "get_named_weights",
          [](nb::handle self, const char* name) {
            // The next that are set take this memory's place.
            return array_of(nb::cast<H&>(self).get().getNamedWeights(name), self).attr("copy")();
          },
          arg("weights_name"))
      .def(
          "get_weights_prototype",
          [](const H& self, const char* name) {
            return PyWeights{self.get().getWeightsPrototype(name), {}};
          },
          arg("weights_name"))
      .def(
          "refit_cuda_engine_async",
          [](H& self, nb::handle stream) {
            auto* const own = static_cast<cudaStream_t>(pointer_of(stream));
            const nb::gil_scoped_release others_run;
            return self.get().refitCudaEngineAsync(own);
          },
          arg("stream_handle"));
  type.call("get_weights_location", &IRefitter::getWeightsLocation, arg("weights_name"))
      .call("unset_named_weights", &IRefitter::unsetNamedWeights, arg("weights_name"))
      .write("weights_validation", &IRefitter::getWeightsValidation,
             &IRefitter::setWeightsValidation);
  type.def(
      "set_named_weights",
      [](H& self, const char* name, nb::handle weights, TensorLocation location) {
        return self.get().setNamedWeights(name, weights_of(weights).weights, location);
      },
      arg("name"), arg("weights"), arg("location"));
}
#else
void add_level(HolderClass<IRefitter>&) {}
#endif

}  // namespace

void add_refitter(nb::module_& module) {
  HolderClass<IRefitter> type(module, "Refitter");
  type.def(
      "__init__",
      [](H* self, ICudaEngine& engine, ILogger& logger) {
        new (self) H(createInferRefitter(engine, logger));
        keep_first(logger);
      },
      arg("engine"), arg("logger"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  type.call("refit_cuda_engine", &IRefitter::refitCudaEngine,
            nb::call_guard<nb::gil_scoped_release>())
      .write("max_threads", &IRefitter::getMaxThreads, &IRefitter::setMaxThreads)
      .listener("error_recorder", &IRefitter::getErrorRecorder, &IRefitter::setErrorRecorder);
  type.def_prop_ro(
      "logger", [](const H& self) { return self.get().getLogger(); }, nb::rv_policy::reference);
  add_weights(type);
  add_ranges(type);
  add_level(type);
}

}  // namespace octet_trt_python
