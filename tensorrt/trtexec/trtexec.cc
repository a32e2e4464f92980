// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/trtexec.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

#include "cli/output/terminal.h"
#include "octet/closest.h"
#include "octet/inspect.h"
#include "octet/limits.h"
#include "tensorrt/trtexec/bindings.h"
#include "tensorrt/trtexec/constraints.h"
#include "tensorrt/trtexec/device.h"
#include "tensorrt/trtexec/engine.h"
#include "tensorrt/trtexec/flags.h"
#include "tensorrt/trtexec/inference.h"
#include "tensorrt/trtexec/layers.h"
#include "tensorrt/trtexec/log.h"
#include "tensorrt/trtexec/plugins.h"
#include "tensorrt/trtexec/print_options.h"

namespace octet::cli {
namespace trtexec {
namespace {

constexpr int kPassed = 0;
constexpr int kFailed = 1;

// One run of the program, between its first line and its last.
class Run {
 public:
  Run(const std::string& name, std::span<char* const> arguments)
      : arguments_(arguments), command_line_(name) {
    for (const char* argument : arguments) command_line_ += std::string(" ") + argument;
  }

  int operator()() {
    version_ = Version{"10.16.0", "101600", " [b72]", false};
    std::string wrong;
    try {
      version_ = parse_version(arguments_);
    } catch (const Error& error) {
      wrong = error.message();
    }
    print_state("RUNNING");
    const bool passed = wrong.empty() ? run() : refuse(wrong);
    print_state(passed ? "PASSED" : "FAILED");
    return passed ? kPassed : kFailed;
  }

 private:
  void print_state(const char* state) const {
    fmt::print("&&&& {} TensorRT.trtexec [TensorRT v{}]{} # {}\n", state, version_.code,
               version_.build, sanitize(command_line_));
    std::fflush(stdout);
  }

  // As trtexec does for a command line that it does not take.
  static bool refuse(const std::string& message) {
    print_help();
    log_error(message);
    return false;
  }

  bool run() {
    if (arguments_.all().empty() || arguments_.has("--help") || arguments_.has("-h")) {
      print_help();
      return true;
    }
    const std::string unknown = unknown_options();
    return unknown.empty() ? parse_and_work() : refuse(unknown);
  }

  // A line for each, and what was probably meant; empty where all are known.
  std::string unknown_options() const {
    std::vector<std::string> known, lines, advice;
    for (const Flag& flag : flags()) known.emplace_back(flag.name);
    const Argument* before = nullptr;
    for (const Argument& argument : arguments_.all()) {
      const Argument* flag = std::exchange(before, &argument);
      if (find_flag(argument.name) != nullptr) continue;
      lines.push_back(fmt::format("Unknown option: {} {}", argument.name, argument.value));
      if (const std::string near = closest(argument.name, known); !near.empty())
        advice.push_back(fmt::format("did you mean '{}'?", near));
      else if (!argument.name.starts_with('-') && flag != nullptr)
        advice.push_back(
            fmt::format("a value stands behind '=': {}={}", flag->name, argument.name));
    }
    lines.insert(lines.end(), advice.begin(), advice.end());
    return fmt::format("{}", fmt::join(lines, "\n"));
  }

  bool parse_and_work() {
    set_verbose(arguments_.has("--verbose"));
    Options options;
    try {
      say_effects();
      options = parse_options(arguments_);
    } catch (const Error& error) {
      return refuse(error.message());
    }
    try {
      return work(options);
    } catch (Error& error) {
      advise_plugins(error);
      log_error(error.what());
    } catch (const std::bad_alloc&) {
      error("out of memory; the limit is {} bytes", limits().memory);
    } catch (const std::exception& error) {
      log_error(std::string("Uncaught exception detected: ") + error.what());
    }
    return false;
  }

  // Each flag once; those that would change the result end the run.
  void say_effects() const {
    std::vector<const Flag*> said;
    for (const Argument& argument : arguments_.all()) {
      const Flag* flag = find_flag(argument.name);
      if (flag->effect == Effect::used || std::ranges::find(said, flag) != said.end()) continue;
      said.push_back(flag);
      if (flag->effect == Effect::refused)
        throw Error(Error::Code::unsupported,
                    fmt::format("{} is refused: {}", flag->name, flag->why));
      warning("{} has no effect here: {}", flag->name, flag->why);
    }
  }

  static bool work(Options options);

  Arguments arguments_;
  std::string command_line_;
  Version version_;
};

void time_deserialization(const Engine& engine) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTimes = 20;
  const std::vector<std::byte> bytes = engine.to_bytes();
  const auto once = [&] {
    const auto start = Clock::now();
    Engine::load(bytes);
    return std::chrono::duration<float, std::milli>(Clock::now() - start).count();
  };
  log_info("Begin deserialization warmup...");
  for (int i = 0; i < 2; ++i) once();
  log_info("Begin deserialization engine timing...");
  const float first = once();
  info("First deserialization time = {} milliseconds", number(first));
  float total = 0;
  for (int i = 0; i < kTimes; ++i) total += once();
  info(
      "Total deserialization time = {} milliseconds in {} iterations, average time = {} "
      "milliseconds, first time = {} milliseconds.",
      number(total), kTimes, number(total / kTimes), number(first));
  info("Deserialization Bandwidth = {} GB/s",
       number(1e-6 * kTimes * static_cast<double>(bytes.size()) / static_cast<double>(total)));
}

void report_performance(const Options& options, const Files& files, std::vector<Trace> traces) {
  const auto warm_up = static_cast<float>(options.warm_up_ms);
  const size_t first = warm_up_queries(traces, warm_up);
  ReportFlags flags;
  flags.warm_up_ms = warm_up;
  flags.runs_per_average = static_cast<int>(options.average_runs);
  flags.percentiles.assign(options.percentiles.begin(), options.percentiles.end());
  flags.streams = options.streams;
  flags.unstable_percent = options.version.old ? 1.0f : 2.5f;
  flags.omits_lines = !options.version.old;
  if (first == traces.size()) {
    log_warning("No query began after the warm-up; --iterations or --duration asks for more");
    return;
  }
  const Report report = performance_report(traces, flags);
  for (const std::string& line : report.info) log_info(line);
  for (const std::string& line : report.warnings) log_warning(line);
  log_info("Explanations of the performance metrics are printed in the verbose logs.");
  for (const std::string& line : report.verbose) log_verbose(line);
  log_info("");
  if (files.times().given()) write_lines(files.times(), times_json(traces, first));
}

void report_outputs(const Options& options, const Files& files, const Subject& subject,
                    const std::vector<Tensor>& outputs) {
  const std::vector<TensorInfo> infos = subject.engine.outputs();
  if (options.has("--dumpOutput")) dump_outputs(options, infos, outputs);
  if (options.has("--dumpRawBindingsToFile")) {
    log_info("Dumping I/O Bindings to RAW Files:");
    dump_raw(options, subject.engine.inputs(), subject.inputs, "input");
    dump_raw(options, infos, outputs, "output");
  }
  if (files.output().given()) write_lines(files.output(), outputs_json(infos, outputs));
}

// What a context is given and takes, for each stream.
void report_contexts(const Options& options, const Engine& engine,
                     const std::vector<Shape>& shapes) {
  if (options.version.old) return;
  const std::vector<TensorInfo> inputs = engine.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type.shape.is_static()) continue;
    for (int s = 0; s < options.streams; ++s)
      info("Set shape of input tensor {} to: {}", inputs[i].name, dims_text(shapes[i]));
  }
  const EngineMemory memory =
      memory_of(engine, {shapes, threads_of(options), nullptr, options.device});
  for (int s = 0; s < options.streams; ++s)
    info("Created execution context with device memory size: {} MiB",
         number(static_cast<double>(memory.arena_bytes) / (1 << 20)));
}

// Measures, and profiles where that is asked for: in a run of its own, or instead of measuring.
void infer(const Options& options, const Files& files, const Subject& subject) {
  Streams streams(options, subject);
  log_bindings(subject.engine.outputs(), streams.output_types(), "Output");
  const Layers layers(options, subject);
  layers.report(options, files);
  log_info("Starting inference");
  const bool measures = !options.profiles_layers() || options.has("--separateProfileRun");
  std::vector<Tensor> outputs;
  std::vector<LayerTimes> times;
  if (measures) {
    Measured measured = streams.run();
    report_performance(options, files, std::move(measured.traces));
    outputs = std::move(measured.outputs);
  } else {
    times = layers.profile(options, subject);
    log_info(
        "The e2e network timing is not reported since it is inaccurate due to the extra "
        "synchronizations when the profiler is enabled.");
    log_info(
        "To show e2e network timing report, add --separateProfileRun to profile layer timing in a "
        "separate run or remove --dumpProfile to disable the profiler.");
    outputs = streams.run_once();
  }
  report_outputs(options, files, subject, outputs);
  if (!options.profiles_layers()) return;
  if (measures) times = layers.profile(options, subject);
  report_profile(options, files, times);
}

void check_profile(const Options& options, const Engine& engine, const std::vector<Shape>& shapes) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    check_in_profile(options.profiles[options.profile], options.profile, inputs[i].name, shapes[i]);
}

bool Run::work(Options options) {
  const Files files(options);
  print_options(options);
  print_device(options);
  log_info("");
  info("TensorRT version: {}", options.version.text);
  load_plugins(options);
  const Engine engine = obtain_engine(options, files);
  if (options.has("--getPlanVersionOnly")) {
    log_info("Plan was created with Octet, by no version of TensorRT");
    return true;
  }
  const std::vector<Shape> shapes = shapes_of_inputs(engine.inputs(), options.shapes);
  log_precisions(options, engine, shapes);
  if (options.skip_inference) {
    report_layers_without_context(options, files, engine, shapes);
    log_info("Skipped inference phase since --skipInference is added.");
    return true;
  }
  if (options.has("--timeDeserialize")) {
    time_deserialization(engine);
    return true;
  }
  check_profile(options, engine, shapes);
  try {
    report_contexts(options, engine, shapes);
    Subject subject{engine, make_inputs(options, engine, shapes), shapes, nullptr,
                    threads_of(options)};
    subject.tuning = obtain_tuning(options, files, engine, subject.inputs);
    infer(options, files, subject);
  } catch (Error& error) {
    const bool of_flags =
        error.code() == Error::Code::invalid_argument || error.code() == Error::Code::io;
    if (!options.assumed.empty() && !of_flags)
      error.add_context("open sizes were taken as --shapes=" + options.assumed +
                        "; that flag gives others");
    throw;
  }
  return true;
}

}  // namespace
}  // namespace trtexec

int run_trtexec(const std::string& name, std::span<char* const> arguments) {
  try {
    return trtexec::Run(name, arguments)();
  } catch (
      const std::system_error& error) {  // of standard output, where its first words went already
    trtexec::log_error(error.what());
    return trtexec::kFailed;
  }
}

Command add_trtexec(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("trtexec", "Do what TensorRT's trtexec does, with its flags and texts");
  app->footer(
      "Flags are written --name=value. docs/tensorrt.md says what each does here.\n\n"
      "Examples:\n"
      "  octet trtexec --onnx=model.onnx --int8 --calibData=photos/ --saveEngine=model.plan\n"
      "  octet trtexec --loadEngine=model.plan --dumpProfile --separateProfileRun\n");
  for (const trtexec::Flag& flag : trtexec::flags()) {
    if (flag.name == "--help" || flag.name == "-h") continue;
    const std::string name(flag.name), help(flag.help);
    if (flag.value.empty()) {
      app->add_flag(name, help);
    } else {
      app->add_option(name, help)->type_name(std::string(flag.value));
    }
  }
  return {app, [] { return kBadInput; }};
}

}  // namespace octet::cli
