// SPDX-License-Identifier: Apache-2.0
// octet bundle: what this machine knows of an engine, in one file for whoever is to see the same.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/fail.h"
#include "cli/flags/data_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/output/outputs.h"
#include "cli/output/progress.h"
#include "cli/output/provenance.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/sample_runs.h"
#include "cli/samples/samples.h"
#include "octet/case.h"

namespace octet::cli::bundle_cli {
namespace {

constexpr CommandHelp kHelp{
    "bundle", "Put what this machine knows of an engine into one file, to be reproduced",
    "The case is a zip file: case.json says versions, CPU, command, options, preprocessing, "
    "decisions, kernels\n"
    "and hashes; beside it lie the engine and what is asked for. It holds weights unless "
    "--without-engine\n"
    "leaves the engine out. An INT8 engine is built again only with the cache of its "
    "calibration.\n\n"
    "Examples:\n"
    "  octet bundle resnet20.octet -o case.zip\n"
    "  octet bundle resnet20.octet -o case.zip --model resnet20.onnx --calib-cache calib.cache\n"
    "  octet bundle resnet20.octet -o case.zip --data photos/ --max-samples 10\n"
    "  octet reproduce case.zip                            # on another machine\n"};

constexpr int64_t kDefaultRuns = 10;

struct Options : EngineFlags {
  Outputs outputs;
  Output* output = nullptr;
  std::filesystem::path model;
  std::filesystem::path cache;
  bool without_engine = false;
  DataFlags inputs;
};

struct Recorded {
  std::vector<CaseRun> runs;
  std::vector<std::string> warnings;
};

Recorded record_runs(const Options& options, const Engine& engine) {
  Recorded recorded;
  if (options.inputs.data.empty()) return recorded;
  ProgressBar progress(options.json);
  Samples samples(engine, data_options(options.inputs, engine.preprocess()), &progress);
  Context context = engine.make_context({.threads = options.threads});
  const Runner runner = runner_of(context);
  int64_t taken = 0;
  const SampleSource next = run_source(engine, samples, [&](int64_t done) {
    recorded.runs.push_back({.name = samples.name(taken), .inputs = {}, .outputs = {}});
    taken = done;
  });
  for (std::vector<Tensor> inputs; next(inputs);) {
    CaseRun& run = recorded.runs.back();
    run.outputs = run_named(engine, runner, inputs, run.name);
    run.inputs = std::move(inputs);
    progress.update({"runs", taken, samples.size()});
  }
  for (const std::string& warning : samples.checks().warnings())
    recorded.warnings.push_back(warning);
  for (const std::string& name : samples.skipped()) recorded.warnings.push_back("skipped " + name);
  return recorded;
}

std::vector<Shape> shapes_of(const Recorded& recorded) {
  std::vector<Shape> shapes;
  if (recorded.runs.empty()) return shapes;
  for (const Tensor& input : recorded.runs[0].inputs) shapes.push_back(input.shape());
  return shapes;
}

Case bundled(const Options& options, const Engine& engine, Recorded& recorded) {
  Case made = make_case(engine, shapes_of(recorded), options.threads);
  if (made.provenance) made.commands.push_back(build_command(*made.provenance));
  if (!options.model.empty()) add_model(made, options.model);
  if (!options.cache.empty()) add_cache(made, load_calibration_cache(options.cache));
  if (options.without_engine) made.engine = Tensor();
  if (!options.model.empty()) {
    if (const std::string missing = missing_for_build(made); !missing.empty())
      recorded.warnings.push_back("this case cannot be built again: " + missing);
  }
  made.runs = std::move(recorded.runs);
  return made;
}

void print_case(const Options& options, const Case& made, uint64_t bytes) {
  std::string parts = made.engine ? "engine" : "no engine";
  if (made.model) parts += ", model";
  if (made.cache) parts += ", calibration cache";
  if (options.output->is_standard()) {
    fmt::print("standard output: a case\n");
  } else {
    fmt::print("{}: {}\n", sanitize(options.output->path().string()), human_bytes(bytes));
  }
  fmt::print("  holds      {}, {} run{}\n", parts, made.runs.size(),
             made.runs.size() == 1 ? "" : "s");
  for (const std::string& command : made.commands)
    fmt::print("  command    {}\n", sanitize(command));
}

nlohmann::ordered_json json_of(const Options& options, const Recorded& recorded, const Case& made,
                               uint64_t bytes) {
  return {{"case", options.output->path().string()},
          {"bytes", bytes},
          {"engine_hash", made.engine_hash},
          {"engine", static_cast<bool>(made.engine)},
          {"model", static_cast<bool>(made.model)},
          {"cache", made.cache.has_value()},
          {"runs", made.runs.size()},
          {"commands", made.commands},
          {"warnings", recorded.warnings}};
}

int run(Options options) {
  options.engine = readable(options.engine);
  put_in_force(options.limits, options.engine);
  const Engine engine = open_engine({options.engine, options.threads, options.model_flags});
  Recorded recorded = record_runs(options, engine);
  const Case made = bundled(options, engine, recorded);
  write(*options.output, made);
  const uint64_t bytes = file_bytes(options.output->path());
  if (options.json) {
    print_json(json_of(options, recorded, made, bytes));
  } else {
    print_case(options, made, bytes);
  }
  for (const std::string& warning : recorded.warnings) print_warning(warning);
  return kDone;
}

void add_flags(CLI::App& app, Options& options) {
  options.inputs.max_samples = kDefaultRuns;
  add_engine_argument(app, options.engine);
  options.output = &options.outputs.add_flag(
      app, {"-o,--output", "CASE.zip", OutputKind::bundle, "where the case goes"});
  app.get_option("--output")->required();
  app.add_option("--model", options.model, "add the model that the engine was built from")
      ->type_name("MODEL.onnx");
  app.add_option("--calib-cache", options.cache, "add the cache of its calibration")
      ->type_name("FILE");
  app.add_flag("--without-engine", options.without_engine,
               "leave the engine out: without a model too, the case holds no weights");
  // --inputs was its name, and stays taken.
  add_data_flags(app, options.inputs, "--data,--inputs",
                 "run images or arrays, and add inputs and outputs");
  add_threads_flag(app, options.threads);
  add_common_flags(app, options);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::bundle_cli
