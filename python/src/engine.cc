// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "module.h"
#include "octet/export.h"
#include "octet/inspect.h"
#include "octet/json.h"
#include "octet/provenance.h"
#include "report.h"

namespace octet::python {
namespace {

std::string repr(const TensorInfo& info) {
  return nb::cast<std::string>(nb::str("TensorInfo(name={!r}, dtype={!r}, shape={!r})")
                                   .attr("format")(to_str(info.name), numpy_name(info.type.dtype),
                                                   sizes_of(info.type.shape)));
}

nb::bytes to_bytes(const PyEngine& self) {
  std::vector<std::byte> bytes;
  {
    const nb::gil_scoped_release unlocked;
    bytes = self.engine.to_bytes();
  }
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

PyEngine from_bytes(const nb::bytes& bytes) {
  const std::span data(reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size());
  const nb::gil_scoped_release unlocked;
  return {Engine::load(data)};
}

nb::object preprocess_of(const PyEngine& self) {
  const auto preprocess = self.engine.preprocess();
  return preprocess ? from_json(to_json(*preprocess)) : nb::none();
}

nb::object provenance_of(const PyEngine& self) {
  const auto made = provenance(self.engine);
  return made ? from_json(to_json(*made)) : nb::none();
}

std::string hash_of(const PyEngine& self) {
  const nb::gil_scoped_release unlocked;
  return engine_hash(self.engine);
}

std::vector<Shape> shapes_of(const std::vector<std::vector<int64_t>>& sizes) {
  std::vector<Shape> shapes;
  for (const auto& one : sizes) shapes.emplace_back(std::span<const int64_t>(one));
  return shapes;
}

nb::object inspect_engine(const PyEngine& self,
                          const std::optional<std::vector<std::vector<int64_t>>>& input_shapes,
                          int threads, const std::string& device) {
  std::string text;
  {
    const nb::gil_scoped_release unlocked;
    InspectOptions options;
    if (input_shapes) options.input_shapes = shapes_of(*input_shapes);
    options.threads = threads;
    options.device = device;
    text = to_json(inspect(self.engine, options));
  }
  return from_json(text);
}

nb::bytes export_engine(const PyEngine& self, const std::string& target) {
  ExportOptions options;
  const auto known = export_target_from(target);
  if (!known) {
    throw Error(Error::Code::invalid_argument,
                "target '" + target + "': expected onnxruntime, openvino or tensorrt");
  }
  options.target = *known;
  options.producer_version = OCTET_VERSION;
  std::vector<std::byte> bytes;
  {
    const nb::gil_scoped_release unlocked;
    bytes = export_onnx(self.engine, options);
  }
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void add_tensor_info(nb::module_& module) {
  nb::class_<TensorInfo>(module, "TensorInfo", "An input or output of an engine.")
      .def_prop_ro(
          "name", [](const TensorInfo& info) { return to_str(info.name); }, "As in the model.")
      .def_prop_ro(
          "dtype", [](const TensorInfo& info) { return numpy_name(info.type.dtype); },
          nb::sig("def dtype(self) -> str"),
          "What NumPy or ml_dtypes call the type of an element: 'float32', 'bfloat16'.")
      .def_prop_ro(
          "shape", [](const TensorInfo& info) { return sizes_of(info.type.shape); },
          nb::sig("def shape(self) -> tuple[int | None, ...] | None"),
          "The size of each dimension, None where any is accepted; None alone where not even their "
          "number is known.")
      .def("__repr__", &repr);
}

void add_files(nb::class_<PyEngine>& type) {
  type.def_static(
          "load", [](const std::filesystem::path& path) { return PyEngine{Engine::load(path)}; },
          nb::arg("path"), nb::call_guard<nb::gil_scoped_release>(),
          "Reads and checks an engine file. Raises octet.Error that names what is wrong in it.")
      .def(
          "save",
          [](const PyEngine& self, const std::filesystem::path& path) { self.engine.save(path); },
          nb::arg("path"), nb::call_guard<nb::gil_scoped_release>(),
          "Writes the engine file: under a temporary name beside `path`, then renamed.")
      .def_static("from_bytes", &from_bytes, nb::arg("data"),
                  "An engine from what to_bytes() gave. Raises octet.Error for other bytes.")
      .def("to_bytes", &to_bytes, "What save() writes.")
      .def("__bytes__", &to_bytes)
      .def("__getstate__", &to_bytes)
      .def("__setstate__",
           [](PyEngine& self, const nb::bytes& data) { new (&self) PyEngine(from_bytes(data)); });
}

}  // namespace

void add_engine(nb::module_& module) {
  add_tensor_info(module);
  nb::class_<PyEngine> type(
      module, "Engine",
      "A built model. Engines do not change, and any number of threads may use one at the same "
      "time, each with a Context of its own.");
  add_files(type);
  type.def_prop_ro(
          "inputs", [](const PyEngine& self) { return self.engine.inputs(); },
          "What a run takes, in the order of the model.")
      .def_prop_ro(
          "outputs", [](const PyEngine& self) { return self.engine.outputs(); },
          "What a run gives, in the order of the model.")
      .def_prop_ro("preprocess", &preprocess_of, nb::sig("def preprocess(self) -> dict | None"),
                   "How images became inputs when the engine was calibrated on a folder of images; "
                   "None for others.")
      .def_prop_ro("provenance", &provenance_of, nb::sig("def provenance(self) -> dict | None"),
                   "What made the engine, with the keys of `octet inspect --provenance --json`: "
                   "the version of Octet, hashes of model and data, methods, samples, options; "
                   "None where the Octet that built it did not say.")
      .def_prop_ro("hash", &hash_of, "Of the bytes that save() writes, as hexadecimal text.")
      .def_prop_ro(
          "report",
          [](const PyEngine& self) -> nb::object {
            if (self.report) return report_dict(*self.report);
            return nb::none();
          },
          nb::sig("def report(self) -> dict | None"),
          "Of an engine that compile() built: the ranges that were chosen, what calibration saw, "
          "tensors without a range. None of a loaded one.")
      .def("inspect", &inspect_engine, nb::arg("input_shapes") = nb::none(), nb::arg("threads") = 1,
           nb::arg("device") = "cpu",
           nb::sig("def inspect(self, input_shapes: "
                   "collections.abc.Sequence[collections.abc.Sequence[int]] | None = "
                   "None, threads: int = 1, device: str = 'cpu') -> dict"),
           "The layers as this machine runs them: precision and its reason, kernel, tensors, "
           "multiplications; and coverage, the share of INT8.\n\n"
           "The keys are those of `octet inspect --json`. `input_shapes` has the sizes of each "
           "input; without it open sizes are 1, or 224 of images.")
      .def("export_onnx", &export_engine, nb::arg("target") = "onnxruntime",
           "The engine as an ONNX model with QuantizeLinear and DequantizeLinear, as bytes of a "
           "file, in the habits of 'onnxruntime', 'openvino' or 'tensorrt'. Raises octet.Error for "
           "an engine without INT8.");
}

}  // namespace octet::python
