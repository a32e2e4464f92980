// SPDX-License-Identifier: Apache-2.0
// octet build: ONNX model and calibration data -> engine file, with a summary of what became INT8.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "cli/build_report.h"
#include "cli/calibration_flags.h"
#include "cli/command.h"
#include "cli/constraint_flags.h"
#include "cli/data_checks.h"
#include "cli/engine_flags.h"
#include "cli/engine_source.h"
#include "cli/fail.h"
#include "cli/float_layers.h"
#include "cli/half_flags.h"
#include "cli/input_summaries.h"
#include "cli/messages.h"
#include "cli/number_range.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/standard_files.h"
#include "cli/terminal.h"
#include "octet/compile.h"
#include "octet/inspect.h"
#include "octet/json.h"
#include "octet/machine.h"
#include "octet/profile.h"
#include "octet/provenance.h"

namespace octet::cli {
namespace build_cli {
namespace {

constexpr const char* kFooter =
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
    "  octet build model.onnx -o float.octet             # everything in FP32\n";

// Plans of this process take the scalar reference while it lives, whatever the machine has. No thread runs yet that could look at the
// environment.
class ReferenceLevel {
 public:
  ReferenceLevel() {
    if (const char* level = std::getenv(kVariable)) before_ = level;
    ::setenv(kVariable, "none", 1);
  }
  ~ReferenceLevel() { before_ ? ::setenv(kVariable, before_->c_str(), 1) : ::unsetenv(kVariable); }
  ReferenceLevel(const ReferenceLevel&) = delete;
  ReferenceLevel& operator=(const ReferenceLevel&) = delete;

 private:
  static constexpr const char* kVariable = "OCTET_CPU_ISA";
  std::optional<std::string> before_;
};

struct Options {
  std::filesystem::path model;
  bool reproducible = false;
  Outputs outputs;
  Output* output = nullptr;
  Output* report = nullptr;
  CalibrationFlags calibration;
  ConstraintFlags constraints;
  HalfFlags halves;
  CompileOptions compile;
  std::vector<std::string> shapes;
  LimitFlags limits;
  int threads = 0;  // 0: what the process may use
  bool json = false;
};

CompileOptions compile_options(const Options& options) {
  CompileOptions result = options.compile;
  result.threads = options.threads > 0 ? options.threads : usable_processors();
  result.input_shapes = parse_shapes(options.shapes);
  result.plan.constraints = constraints_of(options.constraints);
  result.plan.constraint_mode = options.constraints.mode;
  result.calibration = calibration_options(options.calibration);
  apply(options.halves, result.calibration.has_value(), result.plan);
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

// With a threshold the engine is looked at before it is written: one that misses it is not.
struct Judged {
  Inspection inspection;
  std::vector<Threshold> thresholds;
  bool written() const { return std::ranges::all_of(thresholds, &Threshold::passed); }
};

struct Built {
  const Engine& engine;
  const CompileReport& report;
  const Judged& judged;
  double seconds;
  std::string level;  // of the kernels that calibration ran on
  const Inspection& inspection = judged.inspection;
};

// Of inputs whose sizes the engine leaves open: what coverage and layers are told for.
void print_open_sizes(const Engine& engine) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  const std::vector<Shape> assumed = assumed_shapes(engine);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].type.shape;
    if (shape.is_static()) continue;
    fmt::print("  open sizes   {}: {}, looked at as {}\n", sanitize(inputs[i].name),
               to_string(shape), to_string(assumed[i]));
  }
}

nlohmann::ordered_json inputs_json(const Engine& engine) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  const std::vector<Shape> assumed = assumed_shapes(engine);
  auto list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    list.push_back({{"name", inputs[i].name},
                    {"type", to_string(inputs[i].type)},
                    {"assumed", to_string(assumed[i])}});
  }
  return list;
}

// What calibration saw, and what the engine remembers of preparing images.
void print_data(const Built& built) {
  const CompileReport& report = built.report;
  if (report.calibration_samples > 0) {
    fmt::print("  bytes        {}\n",
               built.level == "none"
                   ? "the same on every machine: calibrated on the scalar reference"
                   : "of this machine: calibrated on f32 kernels of level " + built.level +
                         ", and those of another may round otherwise (--reproducible)");
    fmt::print("  calibration  {} samples{}, ranges by {}\n", report.calibration_samples,
               report.calibration_skipped > 0
                   ? fmt::format(", {} skipped", report.calibration_skipped)
                   : "",
               methods_of(report));
  }
  for (const InputSummary& input : report.inputs)
    fmt::print("  input        {}: {}\n", sanitize(input.input), summary_text(input));
  if (const auto preprocess = built.engine.preprocess())
    fmt::print("  images       {}\n", sanitize(to_json(*preprocess)));
}

// That its types were chosen for; empty: they were named.
std::string target_of(const Engine& engine) {
  const std::optional<Provenance> from = provenance(engine);
  return from ? from->plan.target : std::string();
}

void print_summary(const Options& options, const Built& built) {
  const std::string path = sanitize(options.output->path().string());
  if (!built.judged.written()) {
    fmt::print("{}: not written\n", path);
  } else if (options.output->is_standard()) {
    fmt::print("standard output: an engine, built in {}\n", human_seconds(built.seconds));
  } else {
    fmt::print("{}: {}, built in {}\n", path, human_bytes(file_bytes(options.output->path())),
               human_seconds(built.seconds));
  }
  fmt::print("  coverage     {}\n", coverage_line(built.inspection.coverage));
  fmt::print("  model        {} ({})\n", sanitize(with_known_names(options.model.string())),
             human_bytes(file_bytes(options.model)));
  if (const std::string target = target_of(built.engine); !target.empty())
    fmt::print("  fastest for  {}\n", sanitize(target));
  print_open_sizes(built.engine);
  print_data(built);
  print_missing_ranges(built.report, built.inspection);
  print_half_weights(built.report);
  constexpr size_t kShown = 12;
  if (options.compile.plan.int8)
    print_float_layers(built.inspection, kShown, "octet inspect shows all");
  print_nodes(built.inspection, false);
  if (options.report->given()) {
    fmt::print("  report       {}\n", sanitize(options.report->path().string()));
  }
}

void print_summary_json(const Options& options, const Built& built) {
  const CompileReport& report = built.report;
  nlohmann::ordered_json seen = nlohmann::ordered_json::array();
  for (const InputSummary& input : report.inputs) seen.push_back(summary_json(input));
  const auto preprocess = built.engine.preprocess();
  const nlohmann::ordered_json inspected = parsed(to_json(built.inspection));
  nlohmann::ordered_json passes = nlohmann::ordered_json::array();
  for (const PassTrace& pass : report.passes) {
    passes.push_back(
        {{"pass", pass.pass}, {"rewrites", pass.rewrites}, {"milliseconds", pass.milliseconds}});
  }
  const bool written = built.judged.written();
  const auto path = options.output->path();
  nlohmann::ordered_json object = {
      {"engine", written ? nlohmann::ordered_json(path.string()) : nullptr},
      {"bytes", written ? file_bytes(path) : 0},
      {"model_bytes", file_bytes(options.model)},
      {"seconds", built.seconds},
      {"coverage", parsed(to_json(built.inspection.coverage))},
      {"calibration",
       {{"samples", report.calibration_samples},
        {"method", methods_of(report)},
        {"level", report.calibration_samples > 0 ? nlohmann::ordered_json(built.level) : nullptr},
        {"skipped", report.calibration_skipped},
        {"prepared", report.handling ? handling_json(*report.handling) : nullptr},
        {"skipped_files", report.skipped_files},
        {"inputs", std::move(seen)}}},
      {"target", target_of(built.engine)},
      {"inputs", inputs_json(built.engine)},
      {"preprocess", preprocess ? parsed(to_json(*preprocess)) : nullptr},
      {"missing_ranges", missing_ranges_json(report, built.inspection)},
      {"half_weights", half_weights_json(report)},
      {"float_layers", float_layers_json(built.inspection)},
      {"constraints", inspected["constraints"]},
      {"nodes", inspected["nodes"]},
      {"warnings", report.warnings},
      {"passes", std::move(passes)}};
  add_thresholds(object, built.judged.thresholds);
  print_json(object);
}

void print_notes(const CompileReport& report) {
  for (const PassTrace& pass : report.passes) {
    detail(fmt::format("pass {}: {} rewrites, {}", pass.pass, pass.rewrites,
                       human_seconds(pass.milliseconds / 1e3)));
  }
  for (const std::string& warning : report.warnings) print_warning(warning);
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < report.skipped_files.size() && i < kShown; ++i) {
    print_warning("skipped " + report.skipped_files[i]);
  }
  if (report.skipped_files.size() > kShown) {
    print_warning(fmt::format("and {} more", report.skipped_files.size() - kShown));
  }
}

Inspection inspect_built(const Engine& engine, const Options& options, bool written) {
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

Judged judge_and_write(const Engine& engine, const Options& options) {
  if (!options.constraints.min_coverage && !options.constraints.min_time_coverage) {
    write(*options.output, engine);
    return {inspect_built(engine, options, true), {}};
  }
  Judged judged{inspect_built(engine, options, false), {}};
  judged.thresholds = judge_coverage(options.constraints, judged.inspection.coverage);
  if (judged.written()) write(*options.output, engine);
  return judged;
}

void check_reproducible(const Options& options, const PrecisionPlan& plan) {
  if (!options.reproducible) return;
  if (options.calibration.data.data.empty())
    fail(Error::Code::invalid_argument, "--reproducible has no use without --calib");
  // "cpu" is the processor of this machine.
  if (plan.fastest && (plan.target.empty() || plan.target == "cpu")) {
    fail(Error::Code::invalid_argument,
         "--reproducible with --best needs --for and a machine by name, for example cuda");
  }
}

int run(Options options) {
  options.model = readable(options.model);
  put_in_force(options.limits, options.model);
  const auto start = std::chrono::steady_clock::now();
  CompileOptions compile_with = compile_options(options);
  CompileReport report;
  ProgressBar progress(options.json);
  compile_with.monitor.report = [&](const Progress& now) {
    progress.update(now);
    return true;
  };
  check_reproducible(options, compile_with.plan);
  std::optional<ReferenceLevel> level;
  if (options.reproducible) level.emplace();
  const SourceModel source = SourceModel::read(options.model, compile_with);
  const Engine engine = source.build(compile_with.plan, &report);
  level.reset();
  const Judged judged = judge_and_write(engine, options);
  if (judged.written()) save_cache(options.calibration, report);
  progress.finish();
  if (report.handling) say_handling(*report.handling);
  const Inspection& inspection = judged.inspection;
  const bool for_gpu = compile_with.plan.target.starts_with("cuda");
  if (std::string slow = slow_halves(inspection.layers); !slow.empty() && !for_gpu)
    report.warnings.push_back(std::move(slow));
  if (options.report->given() && judged.written()) {
    write_build_report(
        {*options.report, options.model, source, engine, compile_with, report, inspection},
        progress);
  }
  // All that the user waited for, the report too.
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  print_notes(report);
  const std::string ran_on = options.reproducible ? "none" : cpu_isa();
  (options.json ? print_summary_json : print_summary)(options,
                                                      {engine, report, judged, seconds, ran_on});
  return exit_code(judged.thresholds);
}

void add_quantization_flags(CLI::App& app, Options& options) {
  app.add_flag("--int8", options.compile.plan.int8, "quantize whatever has an integer kernel");
  add_calibration_flags(app, options.outputs, options.calibration);
  app.add_option("--keep-float", options.compile.plan.keep_float,
                 "leave a node, by name or operator, in FP32; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_half_flags(app, options.compile.plan, options.halves);
  add_constraint_flags(app, options.constraints);
  add_time_gate(app, options.constraints);
}

void add_debug_flags(CLI::App& app, Options& options) {
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

}  // namespace
}  // namespace build_cli

Command add_build(CLI::App& parent) {
  using namespace build_cli;
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("build", "Build an engine from an ONNX model");
  app->footer(kFooter);
  app->add_option("model", options->model, "ONNX model")->required()->type_name("MODEL.onnx");
  options->output = &options->outputs.add_flag(
      *app,
      {"-o,--output", "ENGINE", OutputKind::engine, "engine file [the model's name with .octet]"});
  Outputs::set_default(*options->output, [model = &options->model] {
    if (is_dash(*model))
      fail(Error::Code::invalid_argument, "a model from standard input has no name; give -o");
    return model->filename().replace_extension(".octet");
  });
  add_quantization_flags(*app, *options);
  add_shape_flag(*app, options->shapes);
  add_processors_flag(*app, options->threads);
  add_weights_root_flag(*app, options->compile.weights_root);
  add_limit_flags(*app, options->limits);
  add_json_flag(*app, options->json);
  add_debug_flags(*app, *options);
  return {app, [options] { return run(*options); }, &options->outputs};
}

}  // namespace octet::cli
