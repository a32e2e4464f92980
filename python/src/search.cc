// SPDX-License-Identifier: Apache-2.0
// What octet.search() and octet.ray.search() are made of.
#include "octet/search.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "arrays.h"
#include "calls.h"
#include "engine.h"
#include "model_source.h"
#include "module.h"
#include "octet/data.h"
#include "octet/error.h"
#include "octet/value_types.h"

namespace octet::python {
namespace {

constexpr std::array<const char*, 6> kKinds = {"value", "verified", "run_us",
                                               "bytes", "rank",     "rank_part"};

// A step as it travels: kind, INT8 or not, method, names of layers (which may be any bytes), part.
using Names = std::vector<nb::bytes>;
using Step = std::tuple<std::string, bool, std::optional<std::string>, Names, Names, int>;

Names to_names(const std::vector<std::string>& texts) {
  Names names;
  for (const std::string& text : texts) names.emplace_back(text.data(), text.size());
  return names;
}

std::vector<std::string> from_names(const Names& names) {
  std::vector<std::string> texts;
  for (const nb::bytes& name : names) texts.emplace_back(name.c_str(), name.size());
  return texts;
}

Step to_python(const SearchStep& step) {
  const SearchTrial& trial = step.trial;
  std::optional<std::string> method;
  if (trial.method) method = to_string(*trial.method);
  return {kKinds[static_cast<size_t>(step.kind)],
          trial.int8,
          std::move(method),
          to_names(trial.real),
          to_names(trial.codes),
          step.part};
}

SearchStep from_python(const Step& given) {
  const auto& [kind, int8, method, real, codes, part] = given;
  SearchStep step;
  size_t at = 0;
  while (at < kKinds.size() && kind != kKinds[at]) ++at;
  if (at == kKinds.size())
    throw Error(Error::Code::invalid_argument, "no step of a search is called '" + kind + "'");
  step.kind = static_cast<SearchStep::Kind>(at);
  step.trial.int8 = int8;
  if (method) step.trial.method = parse_range_method(*method);
  step.trial.real = from_names(real);
  step.trial.codes = from_names(codes);
  step.part = part;
  return step;
}

nb::list outputs_of(OutputsOfSamples samples, const std::vector<std::string>& names) {
  nb::list all;
  for (const std::vector<Tensor>& sample : samples) {
    nb::dict by_name;
    for (size_t i = 0; i < sample.size(); ++i) by_name[to_str(names[i])] = to_numpy(sample[i]);
    all.append(by_name);
  }
  return all;
}

// A function of the outputs, those of the float model and the numbers of the samples.
auto metric_of(std::shared_ptr<const Held> held, std::vector<std::string> outputs) {
  return [held = std::move(held), names = std::move(outputs)](
             std::span<const size_t> which, OutputsOfSamples truth, OutputsOfSamples got) {
    const nb::gil_scoped_acquire lock;
    nb::list numbers;
    for (const size_t sample : which) numbers.append(sample);
    const nb::object found = held->get()(outputs_of(got, names), outputs_of(truth, names), numbers);
    const double value = PyFloat_AsDouble(found.ptr());
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return value;
  };
}

// The journal of the caller: what is known by a key, and who is told of more.
void use_journal(SearchOptions& options, nb::object recall, nb::object record) {
  options.recall = [held = hold(std::move(recall))](const std::string& key) {
    const nb::gil_scoped_acquire lock;
    const nb::object known = held->get()(to_str(key));
    return known.is_none() ? std::nullopt : std::optional(nb::cast<double>(known));
  };
  options.record = [held = hold(std::move(record))](const std::string& key, double value) {
    const nb::gil_scoped_acquire lock;
    held->get()(to_str(key), value);
  };
}

// What octet.search() asks for beside the build.
struct PySearchOptions {
  SearchOptions options;
  nb::object calibration = nb::none();  // batches; None: as the build has it
  nb::object samples, metric;
};

// All samples, each by itself.
std::vector<std::vector<Tensor>> read_samples(const SampleSource& source) {
  std::vector<std::vector<Tensor>> samples;
  std::vector<Tensor> batch;
  while (source(batch)) {
    const int64_t rows = batch.empty() || batch[0].shape().rank() == 0 ? 1 : batch[0].shape()[0];
    for (std::vector<Tensor>& sample : split_outputs(batch, rows, rows))
      samples.push_back(std::move(sample));
  }
  return samples;
}

struct PySearch {
  SourceModel source;
  SearchOptions options;
  SearchSteps steps;
};

std::vector<std::string> output_names(const SourceModel& source) {
  PrecisionPlan plain;
  plain.int8 = false;
  std::vector<std::string> names;
  for (const TensorInfo& output : source.build(plain).outputs()) names.push_back(output.name);
  return names;
}

SourceModel read_source(nb::handle model, CompileOptions& options, nb::object batches) {
  if (!options.calibration) options.calibration.emplace();
  if (!batches.is_none())
    options.calibration->samples = samples_of(nb::iter(batches), model_inputs_of(model, options));
  return with_model(
      model, [&](const std::filesystem::path& file) { return SourceModel::read(file, options); },
      [&](std::span<const std::byte> data) { return SourceModel::read(data, options); });
}

void make_search(PySearch* self, nb::handle model, CompileOptions& compile,
                 const PySearchOptions& asked) {
  const SourceModel source = read_source(model, compile, asked.calibration);
  const SampleSource samples = samples_of(nb::iter(asked.samples), model_inputs_of(model, compile));
  const auto metric = hold(asked.metric);
  SearchOptions options = asked.options;
  const nb::gil_scoped_release unlocked;
  options.metric.value = metric_of(metric, output_names(source));
  options.plan = compile.plan;
  options.threads = compile.threads;
  options.samples = read_samples(samples);
  new (self) PySearch{source, options, SearchSteps(source, options)};
}

nb::tuple run_search(const PySearch& self) {
  auto report = std::make_shared<CompileReport>();
  std::string text;
  std::optional<Engine> engine;
  {
    const nb::gil_scoped_release unlocked;
    const SearchResult result = search(self.source, self.options);
    text = to_json(result);
    engine = build(self.source, result.trials[result.chosen], self.options.plan, report.get());
  }
  return nb::make_tuple(PyEngine{std::move(*engine), std::move(report)}, from_json(text));
}

std::vector<Step> lacking(PySearch& self, size_t most) {
  std::vector<SearchStep> steps;
  {
    const nb::gil_scoped_release unlocked;
    steps = self.steps.lacking(most);
  }
  std::vector<Step> all;
  for (const SearchStep& step : steps) all.push_back(to_python(step));
  return all;
}

void measure(PySearch& self, const Step& step) {
  const SearchStep wanted = from_python(step);
  const nb::gil_scoped_release unlocked;
  self.steps.measure(wanted);
}

void add_options(nb::module_& module) {
  nb::class_<PySearchOptions>(module, "SearchOptions", "What octet.search() asks for.")
      .def(nb::init<>())
      .def(
          "set_data",
          [](PySearchOptions& self, nb::object calibration, nb::object samples) {
            self.calibration = std::move(calibration);
            self.samples = std::move(samples);
          },
          nb::arg("calibration").none(), nb::arg("samples"))
      .def(
          "set_metric",
          [](PySearchOptions& self, nb::object function, std::string name, std::string key) {
            self.metric = std::move(function);
            self.options.metric.name = std::move(name);
            self.options.metric.key = std::move(key);
          },
          nb::arg("function"), nb::arg("name"), nb::arg("key"))
      .def(
          "set_goal",
          [](PySearchOptions& self, std::optional<double> most_drop,
             std::optional<double> least_value, std::optional<double> most_us,
             std::optional<int64_t> most_bytes) {
            self.options.goal = {most_drop, least_value, most_us, most_bytes};
          },
          nb::arg("most_drop").none(), nb::arg("least_value").none(), nb::arg("most_us").none(),
          nb::arg("most_bytes").none())
      .def(
          "set_journal",
          [](PySearchOptions& self, nb::object recall, nb::object record) {
            use_journal(self.options, std::move(recall), std::move(record));
          },
          nb::arg("recall"), nb::arg("record"))
      .def(
          "set_progress",
          [](PySearchOptions& self, nb::object progress) {
            self.options.monitor = monitor_of(std::move(progress));
          },
          nb::arg("progress").none())
      .def(
          "set_work",
          [](PySearchOptions& self, int effort, bool ranges, std::string key) {
            self.options.effort = effort;
            self.options.ranges = ranges;
            self.options.key = std::move(key);
          },
          nb::arg("effort"), nb::arg("ranges"), nb::arg("key"));
}

}  // namespace

void add_search(nb::module_& module) {
  add_options(module);
  nb::class_<PySearch>(module, "NativeSearch", "What octet.search() and octet.ray.search() run.")
      .def("__init__", &make_search, nb::arg("model"), nb::arg("compile"), nb::arg("options"))
      .def("run", &run_search)
      .def("lacking", &lacking, nb::arg("most"))
      .def("measure", &measure, nb::arg("step"));
}

}  // namespace octet::python
