// SPDX-License-Identifier: Apache-2.0
#include "clipping.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "engine.h"
#include "module.h"
#include "octet/error.h"

namespace octet::python {
namespace {

nb::list clipped_tensors(const PyClipWatch& self) {
  nb::list all;
  for (const ClippedTensor& tensor : self.watch->tensors()) {
    nb::dict one;
    one["tensor"] = to_str(tensor.tensor);
    one["codes"] = nb::make_tuple(tensor.codes.min, tensor.codes.max);
    one["values"] = tensor.values;
    one["below"] = tensor.below;
    one["above"] = tensor.above;
    one["calibrated"] = tensor.calibrated ? nb::cast(*tensor.calibrated) : nb::none();
    all.append(one);
  }
  return all;
}

nb::str metrics_of(const nb::list& watches) {
  std::vector<ClipReport> reports;
  for (const nb::handle one : watches) {
    const auto& watch = nb::cast<const PyClipWatch&>(one);
    reports.push_back({watch.model, watch.version, watch.watch->tensors()});
  }
  return to_str(prometheus_text(reports));
}

}  // namespace

void offer(ClipWatch& watch, const std::vector<InputArray>& inputs) {
  const auto on_host = [](const InputArray& array) { return array.device == "cpu"; };
  if (!watch.wants() || !std::ranges::all_of(inputs, on_host)) return;
  try {
    std::vector<Tensor> copies;
    for (const InputArray& array : inputs) copies.push_back(to_tensor(array.view()));
    watch.offer(std::move(copies));
  } catch (const Error&) {
    // No memory for copies: the run itself is done.
  }
}

void add_clipping(nb::module_& module) {
  nb::class_<PyClipWatch>(module, "NativeClipWatch", "What octet.ClipWatch is made of.",
                          nb::is_weak_referenceable())
      .def(
          "__init__",
          [](PyClipWatch* self, const PyEngine& engine, std::string model, std::string version,
             double share) {
            new (self) PyClipWatch{
                std::move(model), std::move(version),
                std::make_shared<ClipWatch>(engine.engine, ClipWatchOptions{share, nullptr})};
          },
          nb::arg("engine"), nb::arg("model"), nb::arg("version"), nb::arg("share"))
      .def("tensors", &clipped_tensors)
      .def(
          "finish", [](const PyClipWatch& self) { self.watch->finish(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("runs", [](const PyClipWatch& self) { return self.watch->runs(); })
      .def_prop_ro("failures", [](const PyClipWatch& self) { return self.watch->failures(); });
  module.def("metrics", &metrics_of, nb::arg("watches"));
}

}  // namespace octet::python
