// SPDX-License-Identifier: Apache-2.0
// Errors of one engine against another.
#include <nanobind/stl/filesystem.h>

#include <memory>

#include "calls.h"
#include "engine.h"
#include "module.h"
#include "octet/inspect.h"
#include "octet/json.h"

namespace octet::python {
namespace {

SampleSource files_of(const std::filesystem::path& path, const PyEngine& tested) {
  DataOptions options;
  options.data = path;
  options.preprocess = tested.engine.preprocess();
  options.prepared_arrays = true;
  const std::vector<TensorInfo> inputs = tested.engine.inputs();
  const auto source = std::make_shared<const DataSource>(DataSource::open(options, inputs));
  return [source, next = int64_t{0}](std::vector<Tensor>& sample) mutable {
    if (next >= source->size()) return false;
    sample = source->sample(next++);
    return true;
  };
}

nb::object compare_engines(const PyEngine& reference, const PyEngine& tested, nb::object data,
                           int threads, nb::object progress) {
  const bool files = nb::isinstance<nb::str>(data);
  const SampleSource source = files ? files_of(nb::cast<std::filesystem::path>(data), tested)
                                    : samples_of(nb::iter(data), tested.engine.inputs());
  CompareOptions options;
  options.threads = threads;
  options.monitor = monitor_of(std::move(progress));
  std::string text;
  {
    const nb::gil_scoped_release unlocked;
    text = to_json(compare(reference.engine, tested.engine, source, options));
  }
  return from_json(text);
}

}  // namespace

void add_compare(nb::module_& module) {
  module.def("compare", &compare_engines, nb::arg("reference"), nb::arg("tested"), nb::arg("data"),
             nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace octet::python
