// SPDX-License-Identifier: Apache-2.0
// octet.Context: runs of an engine.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "arrays.h"
#include "clipping.h"
#include "engine.h"
#include "module.h"
#include "octet/error.h"
#include "octet/machine.h"

namespace octet::python {
namespace {

// Threads of Python may call one context at the same time: then they run one after the other.
struct PyContext {
  PyContext(const PyEngine& engine, const ContextOptions& options, const PyClipWatch* clips)
      : inputs(engine.engine.inputs()),
        outputs(engine.engine.outputs()),
        device(device_info(options.device).name),
        watch(clips == nullptr ? nullptr : clips->watch),
        context(engine.engine.make_context(options)) {}

  const std::vector<TensorInfo> inputs;
  const std::vector<TensorInfo> outputs;
  const std::string device;
  const std::shared_ptr<ClipWatch> watch;  // null: nothing is counted
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

// A handle as DLPack counts them: CUDA's default stream is 1.
using Stream = std::optional<uintptr_t>;

DeviceAccess access_of(const PyContext& self, const Stream& stream) {
  DeviceAccess access;
  if (const size_t colon = self.device.find(':'); colon != std::string::npos)
    access.device = std::stoi(self.device.substr(colon + 1));
  if (stream && *stream != 0) access.stream = static_cast<int64_t>(*stream);
  return access;
}

template <class Array>
std::vector<Array> arrays_of(nb::sequence objects, const std::vector<TensorInfo>& infos,
                             Array (*import)(nb::handle, std::string_view, const DeviceAccess&),
                             const char* what, const DeviceAccess& access) {
  check_count(nb::len(objects), infos, what);
  std::vector<Array> arrays;
  for (const nb::handle object : objects)
    arrays.push_back(
        import(object, fmt::format("{} '{}'", what, infos[arrays.size()].name), access));
  return arrays;
}

template <class Array>
bool any_on_device(const std::vector<Array>& arrays) {
  return std::ranges::any_of(arrays, [](const Array& array) { return array.device != "cpu"; });
}

// A stream that is given orders the run; else arrays on a GPU come behind CUDA's default stream, and the run is waited for.
RunOptions options_of(const Stream& stream, bool on_device, int64_t cache_rows) {
  RunOptions options;
  options.cache_rows = cache_rows;
  if (stream) options.stream = *stream <= 1 ? nullptr : reinterpret_cast<void*>(*stream);
  if (!stream && on_device) options.stream = nullptr;
  return options;
}

nb::list run(PyContext& self, nb::sequence inputs, const Stream& stream, int64_t cache_rows) {
  const auto arrays = arrays_of(inputs, self.inputs, input_array, "input", access_of(self, stream));
  std::vector<Tensor> outputs;
  {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(self.mutex);
    outputs =
        self.context.run(views_of(arrays), options_of(stream, any_on_device(arrays), cache_rows));
    if (self.watch != nullptr) offer(*self.watch, arrays);
  }
  nb::list results;
  for (const Tensor& output : outputs) results.append(to_numpy(output));
  return results;
}

void run_into(PyContext& self, nb::sequence inputs, nb::sequence outputs, const Stream& stream,
              int64_t cache_rows) {
  const DeviceAccess access = access_of(self, stream);
  const auto from = arrays_of(inputs, self.inputs, input_array, "input", access);
  const auto to = arrays_of(outputs, self.outputs, output_array, "output", access);
  const nb::gil_scoped_release unlocked;
  std::vector<MutableTensorView> views;
  for (const OutputArray& array : to) views.push_back(array.view());
  const std::lock_guard lock(self.mutex);
  self.context.run_into(views_of(from), views,
                        options_of(stream, any_on_device(from) || any_on_device(to), cache_rows));
  if (!stream) self.context.synchronize();
  if (self.watch != nullptr) offer(*self.watch, from);
}

void prepare(PyContext& self, const std::vector<std::vector<int64_t>>& input_shapes,
             const std::string& memory) {
  std::vector<Shape> shapes;
  for (const auto& sizes : input_shapes) shapes.emplace_back(std::span<const int64_t>(sizes));
  const std::lock_guard lock(self.mutex);
  self.context.prepare(shapes, memory);
}

}  // namespace

void add_context(nb::module_& module) {
  nb::class_<PyContext>(module, "NativeContext", "What octet.Context is made of.")
      .def(
          "__init__",
          [](PyContext* self, const PyEngine& engine, int threads, const std::string& device,
             const PyClipWatch* watch) {
            ContextOptions options;
            options.threads = threads;
            options.device = device;
            new (self) PyContext(engine, options, watch);
          },
          nb::arg("engine"), nb::arg("threads"), nb::arg("device"), nb::arg("watch").none(),
          nb::call_guard<nb::gil_scoped_release>())
      .def("run", &run, nb::arg("inputs"), nb::arg("stream").none(), nb::arg("cache_rows"))
      .def("run_into", &run_into, nb::arg("inputs"), nb::arg("outputs"), nb::arg("stream").none(),
           nb::arg("cache_rows"))
      .def("prepare", &prepare, nb::arg("input_shapes"), nb::arg("memory"),
           nb::call_guard<nb::gil_scoped_release>())
      .def(
          "synchronize",
          [](PyContext& self) {
            const std::lock_guard lock(self.mutex);
            self.context.synchronize();
          },
          nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace octet::python
