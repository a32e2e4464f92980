// SPDX-License-Identifier: Apache-2.0
// octet.Context: runs of an engine.
#include <fmt/format.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>

#include "arrays.h"
#include "engine.h"
#include "module.h"
#include "octet/error.h"

namespace octet::python {
namespace {

// Threads of Python may call one context at the same time: then they run one after the other.
struct PyContext {
  PyContext(const PyEngine& engine, const ContextOptions& options)
      : inputs(engine.engine.inputs()),
        outputs(engine.engine.outputs()),
        context(engine.engine.make_context(options)) {}

  const std::vector<TensorInfo> inputs;
  const std::vector<TensorInfo> outputs;
  Context context;
  std::mutex mutex;
};

std::vector<TensorView> views_of(const std::vector<InputArray>& arrays) {
  std::vector<TensorView> views;
  for (const InputArray& array : arrays) views.push_back(array.view());
  return views;
}

void check_count(size_t got, const std::vector<TensorInfo>& infos, const char* what) {
  if (got == infos.size()) return;
  throw Error(Error::Code::invalid_argument,
              fmt::format("got {} {}s; the engine has {}", got, what, infos.size()));
}

template <class Array>
std::vector<Array> arrays_of(nb::sequence objects, const std::vector<TensorInfo>& infos,
                             Array (*import)(nb::handle, std::string_view), const char* what) {
  check_count(nb::len(objects), infos, what);
  std::vector<Array> arrays;
  for (const nb::handle object : objects)
    arrays.push_back(import(object, fmt::format("{} '{}'", what, infos[arrays.size()].name)));
  return arrays;
}

nb::list run(PyContext& self, nb::sequence inputs) {
  const auto arrays = arrays_of(inputs, self.inputs, input_array, "input");
  std::vector<Tensor> outputs;
  {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(self.mutex);
    outputs = self.context.run(views_of(arrays));
  }
  nb::list results;
  for (const Tensor& output : outputs) results.append(to_numpy(output));
  return results;
}

void run_into(PyContext& self, nb::sequence inputs, nb::sequence outputs) {
  const auto from = arrays_of(inputs, self.inputs, input_array, "input");
  const auto to = arrays_of(outputs, self.outputs, output_array, "output");
  const nb::gil_scoped_release unlocked;
  std::vector<MutableTensorView> views;
  for (const OutputArray& array : to) views.push_back(array.view());
  const std::lock_guard lock(self.mutex);
  self.context.run_into(views_of(from), views);
}

void prepare(PyContext& self, const std::vector<std::vector<int64_t>>& input_shapes) {
  std::vector<Shape> shapes;
  for (const auto& sizes : input_shapes) shapes.emplace_back(std::span<const int64_t>(sizes));
  const std::lock_guard lock(self.mutex);
  self.context.prepare(shapes);
}

}  // namespace

void add_context(nb::module_& module) {
  nb::class_<PyContext>(module, "NativeContext", "What octet.Context is made of.")
      .def(
          "__init__",
          [](PyContext* self, const PyEngine& engine, int threads, const std::string& device) {
            ContextOptions options;
            options.threads = threads;
            options.device = device;
            new (self) PyContext(engine, options);
          },
          nb::arg("engine"), nb::arg("threads"), nb::arg("device"),
          nb::call_guard<nb::gil_scoped_release>())
      .def("run", &run, nb::arg("inputs"))
      .def("run_into", &run_into, nb::arg("inputs"), nb::arg("outputs"))
      .def("prepare", &prepare, nb::arg("input_shapes"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace octet::python
