// SPDX-License-Identifier: Apache-2.0
#include "observation.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "calls.h"
#include "model_source.h"
#include "module.h"

namespace octet::python {
namespace {

struct PyObserver {
  SampleObserver observer;
  std::vector<TensorInfo> inputs;
};

SourceModel read_model(nb::handle model, const CompileOptions& options) {
  return with_model(
      model, [&](const std::filesystem::path& file) { return SourceModel::read(file, options); },
      [&](std::span<const std::byte> data) { return SourceModel::read(data, options); });
}

PyObservation observe(const PyObserver& self, nb::object batches) {
  const SampleSource samples = samples_of(nb::iter(batches), self.inputs);
  PyObservation observation;
  const nb::gil_scoped_release unlocked;
  *observation.seen = self.observer.observe(samples);
  return observation;
}

nb::bytes bytes_of(const PyObservation& self) {
  std::vector<std::byte> bytes;
  {
    const nb::gil_scoped_release unlocked;
    bytes = self.seen->to_bytes();
  }
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

PyObservation observation_of(const nb::bytes& bytes) {
  const std::span data(reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size());
  const nb::gil_scoped_release unlocked;
  PyObservation observation;
  *observation.seen = Observation::from_bytes(data);
  return observation;
}

}  // namespace

void add_observation(nb::module_& module) {
  nb::class_<PyObservation>(
      module, "Observation",
      "What calibration samples were seen to hold: of some of them, or the sum of such parts. "
      "octet.compile(model, calibration=observation) gives the bytes that all samples together "
      "give, whatever the parts and their order were.")
      .def(nb::init<>(), "Of no samples: what sums begin with.")
      .def(
          "merge",
          [](PyObservation& self, const PyObservation& other) { self.seen->merge(*other.seen); },
          nb::arg("other"), nb::call_guard<nb::gil_scoped_release>(),
          "Adds the samples of another one. Raises octet.Error where it is of another model, or of "
          "this one read with other options.")
      .def_prop_ro(
          "samples", [](const PyObservation& self) { return self.seen->samples(); },
          "How many there were.")
      .def_static("from_bytes", &observation_of, nb::arg("data"),
                  "From what to_bytes() gave, with the same version of Octet. Raises octet.Error "
                  "for other bytes.")
      .def("to_bytes", &bytes_of, "All of it, for from_bytes().")
      .def("__getstate__", &bytes_of)
      .def("__setstate__", [](PyObservation& self, const nb::bytes& data) {
        new (&self) PyObservation(observation_of(data));
      });
  nb::class_<PyObserver>(module, "NativeObserver", "What octet.Observer is made of.")
      .def(
          "__init__",
          [](PyObserver* self, nb::handle model, const CompileOptions& options) {
            const SourceModel source = read_model(model, options);
            new (self) PyObserver{SampleObserver(source, options.threads),
                                  model_inputs_of(model, options)};
          },
          nb::arg("model"), nb::arg("options"))
      .def_prop_ro("inputs", [](const PyObserver& self) { return self.inputs; })
      .def("observe", &observe, nb::arg("batches"));
}

}  // namespace octet::python
