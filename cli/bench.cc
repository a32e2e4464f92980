// SPDX-License-Identifier: Apache-2.0
// octet bench: latency and throughput of an engine on this machine.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "cli/bench_selection.h"
#include "cli/bench_streams.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/fail.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "octet/engine.h"
#include "octet/machine.h"
#include "octet/profile.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFooter =
    "One run is one batch through the engine; planning and the first runs are not counted. What "
    "they\n"
    "take stands in the line 'start': reading the engine, planning it for this machine, the first "
    "run.\n\n"
    "Examples:\n"
    "  octet bench resnet20.octet --threads 1 --batch 1\n"
    "  octet bench yolo.octet --shape images:1x3x416x416 --seconds 5\n"
    "  octet bench resnet20.octet --streams 16           # sixteen callers in one process\n"
    "  octet bench resnet20.octet --layers               # the time of every layer\n"
    "  octet bench resnet20.octet --assert-selection     # is every layer's kernel the fastest?\n"
    "  octet bench resnet20.octet --tune here.json       # then: octet run --tuning here.json ...\n"
    "  octet bench --layer 'Relu(f32[1,64,56,56] nhwc) -> f32[1,64,56,56]'  # one layer alone\n"
    "  octet bench resnet20.octet --json | jq '.latency_ms.median'\n";

constexpr int64_t kMaxRuns = 1'000'000;

struct Options {
  std::filesystem::path engine;
  std::vector<std::string> shapes;
  int threads = 1;
  std::string device = "cpu";
  int streams = 0;
  int64_t batch = 1;
  double seconds = 2;
  int64_t warmup = 10;
  bool layers = false;
  std::string layer;
  bool assert_selection = false;
  double tolerance = 0.1;
  Outputs outputs;
  Output* tune = nullptr;
  std::filesystem::path tuning;
  LimitFlags limits;
  bool json = false;
};

// The time of all threads of this process: what other programs on the machine do not stretch.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double quantile_of(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

// From the engine file to the first result, ms.
struct Start {
  double load = 0;     // reading and checking the file
  double prepare = 0;  // plan and weights packed for this machine
  double first_run = 0;
};

struct Measured {
  Start start;
  std::vector<double> milliseconds;  // sorted
  std::vector<double> processor;     // the same runs, processor time; sorted
  double total_seconds = 0;
  std::vector<Shape> shapes;

  double quantile(double q) const { return quantile_of(milliseconds, q); }
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The most memory this process ever held. What getrusage says covers the program that started this one as well, so it is
// the second choice.
int64_t peak_memory_bytes() {
  constexpr std::string_view kKey = "VmHWM:";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kKey)) return std::atoll(line.c_str() + kKey.size()) * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

// Values that repeat every run: small positive numbers, so that no layer meets denormals or NaN.
void fill(Tensor& tensor) {
  if (tensor.dtype() != Dtype::f32) return;
  uint32_t state = 1;
  for (float& value : tensor.mutable_as<float>()) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / static_cast<float>(1u << 24);
  }
}

std::vector<Tensor> make_inputs(const Engine& engine, const std::vector<Shape>& shapes) {
  std::vector<Tensor> inputs;
  const auto infos = engine.inputs();
  for (size_t i = 0; i < infos.size(); ++i) {
    inputs.emplace_back(infos[i].type.dtype, shapes[i]);
    fill(inputs.back());
  }
  return inputs;
}

// The first runs are part of the warm-up, which ends early where a run takes long: ten runs of a second each tell no more
// than two.
void warm_up(Context& context, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
             const Options& options) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < options.warmup; ++i) {
    context.run_into(inputs, outputs);
    if (i > 0 && seconds_since(start) > options.seconds) return;
  }
}

Measured measure(const Options& options) {
  Measured result;
  auto start = Clock::now();
  const Engine engine = Engine::load(options.engine);
  result.start.load = seconds_since(start) * 1e3;
  result.shapes = concrete_shapes(engine, parse_shapes(options.shapes), options.batch);
  const std::vector<Tensor> inputs = make_inputs(engine, result.shapes);
  const auto tuning = read_tuning(options.tuning);
  if (tuning != nullptr) {
    const Inspection planned =
        inspect(engine, {result.shapes, options.threads, tuning, options.device});
    warn_of_stale_choices(planned.layers, options.tuning);
  }
  start = Clock::now();
  Context context = engine.make_context({options.threads, tuning, options.device});
  context.prepare(result.shapes);
  result.start.prepare = seconds_since(start) * 1e3;
  start = Clock::now();
  std::vector<Tensor> outputs = context.run(inputs);
  result.start.first_run = seconds_since(start) * 1e3;
  warm_up(context, inputs, outputs, options);
  result.milliseconds.reserve(1 << 16);
  result.processor.reserve(1 << 16);
  start = Clock::now();
  do {
    const auto run_start = Clock::now();
    const double processor_start = processor_ms();
    context.run_into(inputs, outputs);
    result.processor.push_back(processor_ms() - processor_start);
    result.milliseconds.push_back(seconds_since(run_start) * 1e3);
    result.total_seconds = seconds_since(start);
  } while (result.total_seconds < options.seconds &&
           static_cast<int64_t>(result.milliseconds.size()) < kMaxRuns);
  std::sort(result.milliseconds.begin(), result.milliseconds.end());
  std::sort(result.processor.begin(), result.processor.end());
  return result;
}

// Samples of one run: the first dimension of the first input, where it has one.
int64_t samples_of(const Measured& measured) {
  if (measured.shapes.empty() || measured.shapes[0].rank() == 0) return 1;
  return measured.shapes[0][0];
}

void print_layer_times(const std::vector<LayerTime>& times) {
  Table table({{"LAYER", false, 40},
               {"OP"},
               {"TYPE"},
               {"KERNEL"},
               {"US", true},
               {"SHARE", true},
               {"GMAC/S", true},
               {"X FLOOR", true}});
  double spent = 0, floor = 0;
  for (const LayerTime& time : times) {
    const double rate = static_cast<double>(time.layer.macs) / (time.microseconds * 1e3);
    table.add({time.layer.name, time.layer.op, std::string(to_string(time.layer.precision)),
               time.layer.kernel +
                   (time.layer.choice.by == KernelChoice::By::tuning ? " (by tuning)" : ""),
               fmt::format("{:.1f}", time.microseconds), fmt::format("{:.1f} %", time.share * 100),
               time.layer.macs > 0 ? fmt::format("{:.1f}", rate) : "",
               time.floor_us > 0 ? fmt::format("{:.1f}", time.microseconds / time.floor_us) : ""});
    spent += time.microseconds;
    floor += time.floor_us;
  }
  table.print();
  fmt::print(
      "\nsum {:.1f} us, floor {:.1f} us: multiplications at the full rate of their unit, or each "
      "byte once from beyond L2\n",
      spent, floor);
}

int run_layers(const Options& options) {
  const Engine engine = Engine::load(options.engine);
  const auto shapes = concrete_shapes(engine, parse_shapes(options.shapes), options.batch);
  ProfileOptions profiled;
  profiled.threads = options.threads;
  profiled.device = options.device;
  profiled.tuning = read_tuning(options.tuning);
  const auto times = profile(engine, make_inputs(engine, shapes), profiled);
  if (!options.json) {
    print_layer_times(times);
    return kDone;
  }
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const LayerTime& time : times) {
    layers.push_back({{"name", time.layer.name},
                      {"op", time.layer.op},
                      {"precision", to_string(time.layer.precision)},
                      {"kernel", time.layer.kernel},
                      {"choice", to_string(time.layer.choice)},
                      {"signature", time.layer.signature},
                      {"macs", time.layer.macs},
                      {"microseconds", time.microseconds},
                      {"floor_us", time.floor_us},
                      {"share", time.share}});
  }
  print_json({{"layers", layers},
              {"threads", options.threads},
              {"device", options.device},
              {"isa", device_info(options.device).level}});
  return kDone;
}

int run_selection(const Options& options) {
  const Engine engine = Engine::load(options.engine);
  const auto shapes = concrete_shapes(engine, parse_shapes(options.shapes), options.batch);
  return assert_selection(engine, make_inputs(engine, shapes),
                          {options.threads, options.tolerance, options.json, *options.tune,
                           read_tuning(options.tuning), options.device});
}

int run_streams(const Options& options) {
  const Engine engine = Engine::load(options.engine);
  const auto shapes = concrete_shapes(engine, parse_shapes(options.shapes), options.batch);
  return bench_streams(engine, make_inputs(engine, shapes),
                       {options.streams, options.threads, options.seconds, options.warmup,
                        read_tuning(options.tuning), options.json, options.device});
}

struct Summary {
  double mean, throughput;
  int64_t samples;
};

void print_json_report(const Options& options, const Measured& measured, const Summary& summary) {
  print_json(
      {{"latency_ms",
        {{"median", measured.quantile(0.5)},
         {"p99", measured.quantile(0.99)},
         {"mean", summary.mean},
         {"min", measured.milliseconds.front()},
         {"max", measured.milliseconds.back()}}},
       {"processor_ms",
        {{"median", quantile_of(measured.processor, 0.5)}, {"min", measured.processor.front()}}},
       {"start_ms",
        {{"load", measured.start.load},
         {"prepare", measured.start.prepare},
         {"first_run", measured.start.first_run}}},
       {"peak_memory_bytes", peak_memory_bytes()},
       {"throughput", summary.throughput},
       {"runs", measured.milliseconds.size()},
       {"batch", summary.samples},
       {"threads", options.threads},
       {"device", options.device},
       {"isa", device_info(options.device).level}});
}

void print_text_report(const Options& options, const Measured& measured, const Summary& summary) {
  fmt::print("latency     median {:.3f} ms, p99 {:.3f} ms, mean {:.3f} ms, min {:.3f} ms\n",
             measured.quantile(0.5), measured.quantile(0.99), summary.mean,
             measured.milliseconds.front());
  fmt::print("throughput  {:.1f} samples/s (batch {}, {} thread{}, {} runs, {})\n",
             summary.throughput, summary.samples, options.threads, options.threads == 1 ? "" : "s",
             measured.milliseconds.size(), device_info(options.device).level);
  fmt::print("start       load {:.1f} ms, plan {:.1f} ms, first run {:.1f} ms\n",
             measured.start.load, measured.start.prepare, measured.start.first_run);
  fmt::print("memory      {:.1f} MiB at most\n",
             static_cast<double>(peak_memory_bytes()) / (1 << 20));
}

int run_layer(const Options& options) {
  return bench_layer(options.layer, {options.threads, options.tolerance, options.json,
                                     *options.tune, read_tuning(options.tuning), options.device});
}

int run(const Options& options) {
  put_in_force(options.limits, options.engine);
  if (!options.layer.empty()) return run_layer(options);
  if (options.engine.empty())
    fail(Error::Code::invalid_argument, "nothing to measure; expected an ENGINE, or --layer");
  if (options.assert_selection || options.tune->given()) return run_selection(options);
  if (options.layers) return run_layers(options);
  if (options.streams > 0) return run_streams(options);
  const Measured measured = measure(options);
  const auto runs = static_cast<double>(measured.milliseconds.size());
  const int64_t samples = samples_of(measured);
  const Summary summary{
      std::accumulate(measured.milliseconds.begin(), measured.milliseconds.end(), 0.0) / runs,
      runs * static_cast<double>(samples) / measured.total_seconds, samples};
  if (options.batch != 1 && options.batch != samples) {
    print_warning(fmt::format("the input's first dimension is {}; --batch {} has no effect",
                              samples, options.batch));
  }
  options.json ? print_json_report(options, measured, summary)
               : print_text_report(options, measured, summary);
  return kDone;
}

// Kernels held against each other.
void add_selection_flags(CLI::App& app, Options& options) {
  app.add_flag("--assert-selection", options.assert_selection,
               "time every kernel that accepts a layer; exit 1 where a slower one was chosen");
  app.add_option("--tolerance", options.tolerance,
                 "share of the fastest kernel's time by which the chosen one may be slower")
      ->type_name("X")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 10.0));
  options.tune = &options.outputs.add_flag(
      app, {"--tune", "FILE", OutputKind::tuning,
            "time them too, and write the fastest into this file for --tuning"});
  app.add_option("--layer", options.layer,
                 "time every kernel of one layer by itself, without an engine: the 'signature' "
                 "that inspect --json gives of it")
      ->type_name("SIGNATURE");
}

// Layers and kernels are timed by one caller: of two wishes one would be dropped.
void refuse_together(CLI::App& app) {
  for (const char* other : {"--layers", "--assert-selection", "--tune"})
    app.get_option("--streams")->excludes(app.get_option(other));
  // A layer alone has sizes of its own, and belongs to no engine.
  for (const char* other :
       {"engine", "--streams", "--batch", "--shape", "--layers", "--assert-selection", "--tune"})
    app.get_option("--layer")->excludes(app.get_option(other));
}

}  // namespace

Command add_bench(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("bench", "Measure latency and throughput on this machine");
  app->footer(kFooter);
  app->add_option("engine", options->engine, "engine file")->type_name("ENGINE");
  add_threads_flag(*app, options->threads);
  add_device_flag(*app, options->device);
  app->add_option("--streams", options->streams,
                  "callers that run side by side, each with a context of --threads threads")
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  app->add_option("--batch", options->batch, "size of a dynamic first dimension")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{65536}));
  add_shape_flag(*app, options->shapes);
  app->add_option("--seconds", options->seconds, "measure for this long")
      ->type_name("S")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  app->add_option("--warmup", options->warmup, "runs before measuring")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  add_selection_flags(*app, *options);
  add_tuning_flag(*app, options->tuning);
  app->add_flag("--layers", options->layers, "time every layer by itself instead of whole runs");
  add_limit_flags(*app, options->limits);
  add_json_flag(*app, options->json);
  refuse_together(*app);
  return {app, [options] { return run(*options); }, &options->outputs};
}

}  // namespace octet::cli
