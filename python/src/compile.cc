// SPDX-License-Identifier: Apache-2.0
// What octet.compile() asks for, and the call itself.
#include "octet/compile.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include <functional>

#include "calls.h"
#include "engine.h"
#include "model_source.h"
#include "module.h"
#include "observation.h"
#include "octet/error.h"
#include "octet/value_types.h"

namespace octet::python {
namespace {

using Options = CompileOptions;

CalibrationOptions& calibration(Options& options) {
  return options.calibration ? *options.calibration : options.calibration.emplace();
}

void set_method(Options& options, const std::string& pattern, const std::string& method) {
  const RangeMethod parsed = parse_range_method(method);
  if (pattern.empty()) {
    calibration(options).method = parsed;
  } else {
    calibration(options).methods.push_back({pattern, parsed});
  }
}

void set_preprocess(Options& options, const std::string& json, bool of_data) {
  const Preprocess preprocess = preprocess_from_json(json, "preprocess");
  if (of_data) {
    calibration(options).preprocess = preprocess;
  } else {
    options.preprocess = preprocess;
  }
}

void set_constraints(Options& options, const std::string& text, bool output) {
  for (const PrecisionConstraint& constraint : parse_constraints(text, output))
    options.plan.constraints.push_back(constraint);
}

void set_mode(Options& options, const std::string& name) {
  const auto mode = constraint_mode_from(name);
  if (!mode) {
    throw Error(Error::Code::invalid_argument,
                "constraints '" + name + "': expected 'prefer', 'obey' or 'none'");
  }
  options.plan.constraint_mode = *mode;
}

void set_shape(Options& options, const std::string& input, const std::vector<int64_t>& sizes) {
  options.input_shapes[input] = Shape(std::span<const int64_t>(sizes));
}

PyEngine compile_model(nb::handle model, Options& options, nb::object batches,
                       nb::object progress) {
  if (!batches.is_none())
    calibration(options).samples = samples_of(nb::iter(batches), model_inputs_of(model, options));
  options.monitor = monitor_of(std::move(progress));
  auto report = std::make_shared<CompileReport>();
  Engine engine = with_model(
      model,
      [&](const std::filesystem::path& file) { return compile(file, options, report.get()); },
      [&](std::span<const std::byte> data) { return compile(data, options, report.get()); });
  return {std::move(engine), std::move(report)};
}

// True where the cache was read, so that no data are; else it is to be made.
bool use_cache(Options& options, const std::filesystem::path& path) {
  CalibrationOptions& calibrated = calibration(options);
  if (!std::filesystem::exists(path)) {
    calibrated.make_cache = true;
    return false;
  }
  calibrated.cache = std::make_shared<const CalibrationCache>(load_calibration_cache(path));
  return true;
}

void save_cache(const PyEngine& engine, const std::filesystem::path& path) {
  if (engine.report && engine.report->cache) save_calibration_cache(*engine.report->cache, path);
}

void add_plan(nb::class_<Options>& type) {
  type.def(
          "set_types",
          [](Options& options, bool int8, bool f16, bool bf16, bool fastest) {
            options.plan.int8 = int8;
            options.plan.f16 = f16;
            options.plan.bf16 = bf16;
            options.plan.fastest = fastest;
          },
          nb::arg("int8"), nb::arg("f16"), nb::arg("bf16"), nb::arg("fastest"))
      .def("set_constraints", &set_constraints, nb::arg("text"), nb::arg("output"))
      .def("set_mode", &set_mode, nb::arg("name"))
      .def(
          "set_target",
          [](Options& options, std::string name) { options.plan.target = std::move(name); },
          nb::arg("name"))
      .def(
          "keep_float",
          [](Options& options, std::string name) {
            options.plan.keep_float.push_back(std::move(name));
          },
          nb::arg("name"))
      .def(
          "favor",
          [](Options& options, double time) {
            options.plan.accuracy_time = time;
            calibration(options).try_layers = true;
          },
          nb::arg("time"))
      .def("set_shape", &set_shape, nb::arg("input"), nb::arg("sizes"))
      .def_rw("threads", &Options::threads)
      .def_rw("weights_folder", &Options::weights_folder);
}

void add_calibration(nb::class_<Options>& type) {
  type.def(
          "set_data",
          [](Options& options, const std::filesystem::path& path, int64_t max_samples,
             bool skip_bad) {
            CalibrationOptions& calibrated = calibration(options);
            calibrated.data = path;
            calibrated.max_samples = max_samples;
            calibrated.skip_bad = skip_bad;
          },
          nb::arg("path"), nb::arg("max_samples"), nb::arg("skip_bad"))
      .def("set_observation",
           [](Options& options, const PyObservation& observation) {
             calibration(options).observation = observation.seen;
           })
      .def("take_constant_data",
           [](Options& options) { calibration(options).constant_data = true; })
      .def(
          "set_device",
          [](Options& options, std::string name) { calibration(options).device = std::move(name); },
          nb::arg("name"))
      .def("leave_channels", [](Options& options) { calibration(options).equalize = false; })
      .def("set_method", &set_method, nb::arg("pattern"), nb::arg("method"))
      .def("set_preprocess", &set_preprocess, nb::arg("json"), nb::arg("of_data"))
      .def(
          "set_ranges",
          [](Options& options, const std::string& json) {
            calibration(options).ranges = parse_given_ranges(json, "ranges");
          },
          nb::arg("json"))
      .def("use_cache", &use_cache, nb::arg("path"));
}

}  // namespace

Model model_of(nb::handle model) {
  if (PyBytes_Check(model.ptr())) return {{}, nb::borrow(model)};
  std::filesystem::path file;
  if (!nb::try_cast(model, file, false))
    throw nb::type_error("model: expected a path or the bytes of a file");
  return {file, {}};
}

std::vector<TensorInfo> model_inputs_of(nb::handle model, const CompileOptions& options) {
  return with_model(
      model, [](const std::filesystem::path& file) { return model_inputs(file); },
      [&](std::span<const std::byte> data) { return model_inputs(data, options.weights_folder); });
}

void add_compile(nb::module_& module) {
  nb::class_<Options> type(module, "CompileOptions", "What octet.compile() asks for.");
  type.def(nb::init<>());
  add_plan(type);
  add_calibration(type);
  module.def("compile", &compile_model, nb::arg("model"), nb::arg("options"),
             nb::arg("batches").none(), nb::arg("progress").none());
  module.def("model_inputs", &model_inputs_of, nb::arg("model"), nb::arg("options"));
  module.def("save_cache", &save_cache, nb::arg("engine"), nb::arg("path"));
}

}  // namespace octet::python
