// SPDX-License-Identifier: Apache-2.0
// octet compare: the error of an engine against the float model, for outputs and for each layer.
#include <fmt/format.h>

#include <iterator>

#include "cli/command.h"
#include "cli/fail.h"
#include "cli/flags/comparison_flags.h"
#include "cli/flags/data_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/flags/thresholds.h"
#include "cli/output/outputs.h"
#include "cli/output/progress.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/nan_watch.h"
#include "cli/samples/output_errors.h"
#include "cli/samples/reference.h"
#include "cli/samples/sample_runs.h"
#include "cli/samples/samples.h"
#include "octet/inspect.h"
#include "octet/json.h"

namespace octet::cli::compare_cli {
namespace {

constexpr CommandHelp kCompareHelp{
    "compare", "Error against the model, for each layer",
    "Values are compared by name, dequantized, over all samples; the error of a layer holds the "
    "errors of the\n"
    "layers before it. SQNR in dB is 10 log10(signal / error): 6 dB are one bit.\n\n"
    "Examples:\n"
    "  octet compare resnet20.octet --against resnet20.onnx --data photos/ --layers\n"
    "  octet compare yolo.octet --against yolo.onnx --data day/ --max-samples 20 --min-sqnr 25\n"
    "  octet compare a.octet --against b.octet --data photos/      # two engines\n"
    "  octet compare a.octet --against onnxruntime:a.onnx --data photos/ --atol 1e-3 --rtol 1e-2 "
    "--save-outputs ort.npz\n"
    "  octet compare b.octet --load-outputs ort.npz --data photos/ --top-k 5 --validate\n"};

constexpr CommandHelp kSimulateHelp{
    "simulate", "Run the Q/DQ graph of an INT8 engine in FP32 beside the engine",
    "The simulation is the graph with QuantizeLinear and DequantizeLinear that the INT8 layers "
    "were\n"
    "made of, each node in FP32. Sums of reals round otherwise than sums of integers: outputs "
    "differ\n"
    "by a code here and there, and by more only where something is wrong.\n\n"
    "Examples:\n"
    "  octet simulate resnet20.octet --data photos/ --layers\n"
    "  octet simulate resnet20.octet --data photos/ -o simulated.npz --min-sqnr 40\n"};

struct Options : EngineFlags {
  ReferenceFlags reference;
  ComparisonFlags comparison;
  Outputs outputs;
  Output* report = nullptr;
  DataFlags data;
  bool layers = false;
  int64_t top = 0;
  std::optional<double> min_sqnr;
};

struct Result {
  int64_t samples = 0;
  std::string reference;
  OutputErrors outputs;
  NanReport nan;
  std::vector<OutputComparison> comparisons;
  std::vector<ValueError> layers;
  std::optional<ValueError> first;  // beyond the tolerances, as layers run
  std::vector<std::string> skipped;
  std::vector<std::string> warnings;
  DataChecks checks = {};
};

void compare_outputs(const Options& options, const Engine& engine, Samples& samples,
                     Reference& reference, Result& result) {
  OutputComparer comparer(tensor_names(engine.outputs()),
                          comparison_options(options.comparison, engine.outputs()));
  ProgressBar progress(options.json);
  NanWatch watch(engine, {.threads = options.threads});
  reference.run(engine, samples,
                [&](const LoadedSample& sample, auto tested, const auto& expected) {
                  watch.look_at(sample.name, sample.inputs, tested);
                  comparer.add(sample.name, expected, tested);
                  result.outputs.add(expected, {tested.begin(), tested.end()});
                  progress.update({"outputs", ++result.samples, samples.size()});
                });
  result.comparisons = comparer.outputs();
  result.nan = watch.report();
}

std::vector<ValueError> compare_layers(const Options& options, const DataOptions& data,
                                       const Reference& reference, const Engine& engine) {
  ProgressBar progress(options.json);
  Samples samples(engine, data, &progress);
  const auto next = run_source(engine, samples, [&](int64_t done) {
    progress.update({"layers", done, samples.size()});
  });
  return reference.layers(engine, next,
                          {.threads = options.threads,
                           .tolerance = general_tolerance(options.comparison),
                           .monitor = {}});
}

Result measure(const Options& options, const Engine& engine) {
  // What is wrong with a flag is said before data are read.
  comparison_options(options.comparison, engine.outputs());
  const DataOptions data = data_options(options.data, engine.preprocess());
  ProgressBar progress(options.json);
  Samples samples(engine, data, &progress);
  if (samples.size() == 0) {
    fail(Error::Code::invalid_argument, "{}: no sample could be read", options.data.data.string());
  }
  Reference reference(options.reference, engine,
                      {options.threads, options.model_flags, samples.size()});
  if (options.layers) reference.check_has_layers();
  Result result;
  result.reference = reference.name();
  compare_outputs(options, engine, samples, reference, result);
  result.skipped = samples.skipped();
  result.warnings = samples.notes();
  result.checks = samples.checks();
  if (!options.layers) return result;
  result.layers = compare_layers(options, data, reference, engine);
  if (const ValueError* first = first_difference(result.layers)) result.first = *first;
  const auto top = static_cast<size_t>(options.top);
  if (top > 0 && result.layers.size() > top) result.layers.resize(top);
  return result;
}

void write_page(const Options& options, const Engine& engine, const Result& result) {
  InspectOptions how;
  how.threads = options.threads;
  const Inspection inspection = inspect(engine, how);
  ReportInput page{options.engine.filename().string(), {}, inspection, {}, result.layers};
  page.summary = {{"compared with", result.reference},
                  {"samples", fmt::format("{}", result.samples)},
                  {"SQNR of the outputs", decibels(result.outputs.stats().sqnr_db())}};
  page.outputs = result.comparisons;
  page.against = result.reference;
  write(*options.report, page);
}

void print_result(const Options& options, const Engine& engine, const Result& result) {
  fmt::print("samples {}, against {}\n\n", result.samples, sanitize(result.reference));
  Table outputs({{"OUTPUT", false, 60}, {"SQNR", true}, {"MAX ABS", true}, {"COSINE", true}});
  const auto infos = engine.outputs();
  for (size_t i = 0; i < infos.size(); ++i) {
    const ErrorStats& stats = result.outputs.outputs()[i];
    outputs.add({infos[i].name, decibels(stats.sqnr_db()), fmt::format("{:.4g}", stats.max_abs()),
                 fmt::format("{:.6f}", stats.cosine())});
  }
  outputs.print();
  print_comparison(options.comparison, result.comparisons);
  if (result.layers.empty()) return;
  fmt::print("\n");
  Table layers({{"LAYER, worst first", false, 40},
                {"TYPE"},
                {"SQNR", true},
                {"MAX ABS", true},
                {"COSINE", true},
                {"VALUE", false, 50}});
  for (const ValueError& error : result.layers) {
    layers.add({error.layer, std::string(to_string(error.precision)), decibels(error.sqnr_db),
                fmt::format("{:.4g}", error.max_abs), fmt::format("{:.6f}", error.cosine),
                error.value});
  }
  layers.print();
  if (!result.first) {
    fmt::print("\nno layer differs beyond --atol and --rtol\n");
    return;
  }
  fmt::print(
      "\nfirst layer that differs beyond --atol and --rtol: {} ({}), {} of {} elements, at most "
      "{:.4g}\n",
      sanitize(result.first->layer), sanitize(result.first->value), result.first->beyond,
      result.first->elements, result.first->max_abs);
}

// {"layer", "value", "beyond", ...}, or null.
nlohmann::ordered_json first_json(const Result& result) {
  if (!result.first) return nullptr;
  return parsed(to_json(std::span(&*result.first, 1)))[0];
}

void print_result_json(const Engine& engine, const Result& result,
                       const std::vector<Threshold>& judged) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  const auto infos = engine.outputs();
  for (size_t i = 0; i < infos.size(); ++i) {
    const ErrorStats& stats = result.outputs.outputs()[i];
    outputs.push_back({{"name", infos[i].name},
                       {"sqnr_db", sqnr_json(stats.sqnr_db())},
                       {"max_abs", stats.max_abs()},
                       {"cosine", stats.cosine()}});
    add_comparison(result.comparisons[i], outputs.back());
  }
  nlohmann::ordered_json object = {{"samples", result.samples},
                                   {"against", result.reference},
                                   {"sqnr_db", sqnr_json(result.outputs.stats().sqnr_db())},
                                   {"outputs", std::move(outputs)},
                                   {"not_finite", result.nan.json},
                                   {"layers", parsed(to_json(result.layers))},
                                   {"first_difference", first_json(result)},
                                   {"skipped", result.skipped},
                                   {"warnings", result.warnings}};
  add_checks(result.checks, object);
  add_thresholds(object, judged);
  print_json(object);
}

int run(Options& options) {
  options.engine = readable(options.engine);
  put_in_force(options.limits, options.engine);
  const Engine engine = open_engine({options.engine, options.threads, options.model_flags});
  Result result = measure(options, engine);
  std::ranges::copy(result.nan.warnings, std::back_inserter(result.warnings));
  std::vector<Threshold> judged;
  if (options.min_sqnr) {
    judged.push_back(
        at_least("min_sqnr", "SQNR in dB", result.outputs.stats().sqnr_db(), *options.min_sqnr));
  }
  add_judgments(options.comparison, result.comparisons, judged);
  if (options.report->given()) write_page(options, engine, result);
  if (options.json) {
    print_result_json(engine, result, judged);
  } else {
    print_result(options, engine, result);
  }
  for (const std::string& warning : result.warnings) print_warning(warning);
  for (const std::string& name : result.skipped) print_warning("skipped " + name);
  return exit_code(judged);
}

void add_flags_of_both(CLI::App& app, Options& options) {
  add_engine_argument(app, options.engine);
  // --calib was its name, and stays taken.
  add_data_flags(app, options.data, "--data,--calib", "images or arrays to run on")->required();
  app.add_flag("--layers", options.layers, "one line a layer, worst first");
  app.add_option("--top", options.top, "show only the N worst layers [0: all]")
      ->type_name("N")
      ->check(from(int64_t{0}));
  app.add_option("--min-sqnr", options.min_sqnr, "exit code 1 when the outputs' SQNR is below")
      ->type_name("DB")
      ->check(any_number());
  add_comparison_flags(app, options.comparison);
  options.report = &options.outputs.add_flag(
      app, {"--report", "FILE.html", OutputKind::report,
            "write one self-contained HTML page, with maps of the errors"});
  add_threads_flag(app, options.threads);
  add_common_flags(app, options);
}

void add_compare_flags(CLI::App& app, Options& options) {
  add_reference_flags(app, options.outputs, options.reference);
  add_flags_of_both(app, options);
}

void add_simulate_flags(CLI::App& app, Options& options) {
  options.reference.against = "simulation";
  options.reference.save = &options.outputs.add_flag(
      app, {"-o,--output", "FILE.npz", OutputKind::arrays, "write the outputs of the simulation"});
  add_flags_of_both(app, options);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kCompareHelp, add_compare_flags, run); }

}  // namespace octet::cli::compare_cli

namespace octet::cli::simulate_cli {

Command add(CLI::App& parent) {
  return make_command(parent, compare_cli::kSimulateHelp, compare_cli::add_simulate_flags,
                      compare_cli::run);
}

}  // namespace octet::cli::simulate_cli
