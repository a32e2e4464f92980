// SPDX-License-Identifier: Apache-2.0
// octet build: ONNX model and calibration data -> engine file, with a summary of what became INT8.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/commands/build_report.h"
#include "cli/commands/build_summary.h"
#include "cli/fail.h"
#include "cli/flags/calibration_flags.h"
#include "cli/flags/constraint_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/half_flags.h"
#include "cli/flags/number_range.h"
#include "cli/flags/search_flags.h"
#include "cli/interrupt.h"
#include "cli/output/float_layers.h"
#include "cli/output/messages.h"
#include "cli/output/outputs.h"
#include "cli/output/progress.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/data_checks.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/input_summaries.h"
#include "cli/samples/reference_level.h"
#include "octet/compile.h"
#include "octet/inspect.h"
#include "octet/json.h"
#include "octet/machine.h"
#include "octet/profile.h"
#include "octet/provenance.h"

namespace octet::cli::build_cli {
namespace {

constexpr CommandHelp kHelp{
    "build", "Build an engine from an ONNX model",
    "Calibration data is a folder of JPEG, PNG, WebP or BMP images, a folder of .npy or .npz "
    "samples, or one .npz whose\n"
    "arrays have one sample a row. Without preprocessing flags images are resized to the model's "
    "input. A\n--preprocess file is one JSON object:\n"
    "  {\"resize\": \"256\", \"crop\": \"224x224\", \"color\": \"rgb\", \"scale\": 255,\n"
    "   \"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}\n"
    "It is remembered in the engine. Models with Q/DQ nodes keep their own scales and need no "
    "data.\n\nExamples:\n"
    "  octet build resnet20.onnx --int8 --calib photos/ --preprocess cifar.json -o resnet20.octet\n"
    "  octet build mobilenet.onnx --int8 --calib photos/ --resize 256 --crop 224x224 --scale 255\n"
    "  octet build yolo.onnx --int8 --calib street/ --letterbox 416x416:114 --report yolo.html\n"
    "  octet build vit.onnx --int8 --calib data.npz --keep-float Gelu --keep-float "
    "/head/MatMul\n"
    "  octet build vit.onnx --int8 --calib data.npz --precision '/head/*:f32,/stem/Conv:int8' "
    "--constraints obey\n"
    "  octet build model.onnx -o float.octet             # everything in FP32\n"};

CompileOptions compile_options(const BuildOptions& options) {
  CompileOptions result = options.compile;
  result.threads = options.threads > 0 ? options.threads : usable_processors();
  result.input_shapes = parse_shapes(options.shapes);
  result.plan.constraints = constraints_of(options.constraints);
  result.plan.constraint_mode = options.constraints.mode;
  result.calibration = calibration_options(options.calibration);
  apply(options.halves, result.calibration.has_value(), result.plan);
  apply(options.favor, result);
  const bool measures = result.plan.f16 && !options.calibration.data.data.empty();
  if (result.calibration && !result.plan.int8 && !measures) {
    fail(Error::Code::invalid_argument,
         "calibration data, caches and ranges have no use without --int8; add --int8");
  }
  result.preprocess = result.calibration
                          ? result.calibration->preprocess
                          : resolve(options.calibration.data.preprocess, {}).preprocess;
  return result;
}

Inspection inspect_built(const Engine& engine, const BuildOptions& options, bool written) {
  InspectOptions inspected;
  inspected.threads = std::max(1, options.threads);  // what a context takes
  inspected.input_shapes = assumed_shapes(engine);
  try {
    Inspection inspection = inspect(engine, inspected);
    const bool judged_by_time = options.constraints.min_time_coverage.has_value();
    measure_coverage(engine, inspected, inspection,
                     judged_by_time ? MeasureRuns::any : MeasureRuns::quick);
    return inspection;
  } catch (Error& error) {
    error.add_context("planning the engine of '" + options.model.string() + "'" +
                      (written ? ", which is written" : ""));
    throw;
  }
}

Judged judge_and_write(const Engine& engine, const BuildOptions& options,
                       std::vector<Threshold> searched) {
  if (searched.empty() && !options.constraints.min_coverage &&
      !options.constraints.min_time_coverage) {
    write(*options.output, engine);
    return {inspect_built(engine, options, true), {}};
  }
  Judged judged{inspect_built(engine, options, false), std::move(searched)};
  for (Threshold& one : judge_coverage(options.constraints, judged.inspection.coverage))
    judged.thresholds.push_back(std::move(one));
  if (judged.written()) write(*options.output, engine);
  return judged;
}

void check_reproducible(const BuildOptions& options, const PrecisionPlan& plan) {
  if (!options.reproducible) return;
  if (options.calibration.data.data.empty())
    fail(Error::Code::invalid_argument, "--reproducible has no use without --calib");
  if (options.calibration.device != "cpu") {
    fail(Error::Code::invalid_argument,
         "--reproducible runs the model on the scalar reference: it takes no --device");
  }
  // "cpu" is the processor of this machine.
  if (plan.fastest && (plan.target.empty() || plan.target == "cpu")) {
    fail(Error::Code::invalid_argument,
         "--reproducible with --best needs --for and a machine by name, for example cuda");
  }
}

// The engine of the plan, or of what a search finds.
struct Made {
  SourceModel source;
  Engine engine;
  std::optional<Found> found;
};

Made make(const BuildOptions& options, const CompileOptions& compile_with, CompileReport& report,
          ProgressBar& progress) {
  if (options.search.asked()) {
    Found found = search_and_build(
        options.search,
        {options.model, compile_with, options.calibration, options.reproducible, progress}, report);
    return {found.source, found.engine, std::move(found)};
  }
  std::optional<ReferenceLevel> level;
  if (options.reproducible) level.emplace();
  SourceModel source = SourceModel::read(options.model, compile_with);
  Engine engine = source.build(compile_with.plan, &report);
  return {std::move(source), std::move(engine), std::nullopt};
}

void add_warnings(const Made& made, const Judged& judged, bool for_gpu, CompileReport& report) {
  if (report.handling) say_handling(*report.handling);
  if (std::string slow = slow_halves(judged.inspection.layers); !slow.empty() && !for_gpu)
    report.warnings.push_back(std::move(slow));
  if (made.found && made.found->result.stopped) {
    const char* engine = !judged.written()             ? "nothing so far keeps the goal"
                         : made.found->result.verified ? "the engine is the best so far"
                                                       : "the engine is the best so far, which was "
                                                         "not verified";
    report.warnings.push_back(
        fmt::format("the search was stopped: {}; with --journal the same command goes on", engine));
  }
}

int run(const CLI::App& app, BuildOptions options) {
  check_search_flags(app, options.search, options.compile.plan.int8);
  options.model = readable(options.model);
  put_in_force(options.limits, options.model);
  const auto start = std::chrono::steady_clock::now();
  CompileOptions compile_with = compile_options(options);
  CompileReport report;
  ProgressBar progress(options.json);
  compile_with.monitor.report = [&](const Progress& now) {
    progress.update(now);
    return !InterruptWatch::came();
  };
  check_reproducible(options, compile_with.plan);
  const Made made = make(options, compile_with, report, progress);
  const Found* found = made.found ? &*made.found : nullptr;
  const Judged judged = judge_and_write(
      made.engine, options,
      found ? judge_search(options.search, found->result) : std::vector<Threshold>());
  if (judged.written()) save_cache(options.calibration, report);
  progress.finish();
  const Inspection& inspection = judged.inspection;
  add_warnings(made, judged, compile_with.plan.target.starts_with("cuda"), report);
  if (options.report->given() && judged.written()) {
    BuildReport page = {*options.report, options.model, made.source, made.engine,
                        compile_with,    report,        inspection};
    if (found) page.more = front_lines(options.search, found->result);
    write_build_report(page, progress);
  }
  // All that the user waited for, the report too.
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  print_notes(report);
  const std::string ran_on = options.reproducible ? "none" : cpu_isa();
  (options.json ? print_summary_json : print_summary)(
      options, {made.engine, report, judged, seconds, ran_on, found});
  const int code = exit_code(judged.thresholds);
  return code == kDone && found && found->result.stopped ? kThresholdFailed : code;
}

void add_quantization_flags(CLI::App& app, BuildOptions& options) {
  app.add_flag("--int8", options.compile.plan.int8, "quantize whatever has an integer kernel");
  add_calibration_flags(app, options.outputs, options.calibration);
  app.add_option("--keep-float", options.compile.plan.keep_float,
                 "leave a node, by name or operator, in FP32; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_favor_flag(app, options.favor);
  add_half_flags(app, options.compile.plan, options.halves);
  add_constraint_flags(app, options.constraints);
  add_time_gate(app, options.constraints);
}

void add_debug_flags(CLI::App& app, BuildOptions& options) {
  const char* group = "Finding out";
  app.add_flag("--reproducible", options.reproducible,
               "calibrate on the scalar reference, so that every machine writes the same bytes; "
               "a hundred times slower than its kernels")
      ->group(group);
  options.report = &options.outputs.add_flag(
      app, {"--report", "FILE.html", OutputKind::report, "write one self-contained HTML page"});
  app.get_option("--report")->group(group);
  app.add_option("--disable-pass", options.compile.plan.rewrites.disabled_passes,
                 "leave out a graph pass, by name; repeatable")
      ->type_name("PASS")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--stop-after-rewrites", options.compile.plan.rewrites.stop_after_rewrites,
                 "stop rewriting the graph after N steps, for bisecting")
      ->type_name("N")
      ->check(from(int64_t{0}))
      ->group(group);
}

void add_flags(CLI::App& app, BuildOptions& options) {
  app.add_option("model", options.model, "ONNX model")->required()->type_name("MODEL.onnx");
  options.output = &options.outputs.add_flag(app, {"-o,--output", "ENGINE", OutputKind::engine,
                                                   "engine file [the model's name with .octet]"});
  Outputs::set_default(*options.output, [model = &options.model] {
    if (is_dash(*model))
      fail(Error::Code::invalid_argument, "a model from standard input has no name; give -o");
    return model->filename().replace_extension(".octet");
  });
  add_quantization_flags(app, options);
  add_search_flags(app, options.outputs, options.search);
  add_shape_flag(app, options.shapes);
  add_processors_flag(app, options.threads);
  add_last_flags(app, options.compile.weights_root, options.limits, options.json);
  add_debug_flags(app, options);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::build_cli
