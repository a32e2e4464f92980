// SPDX-License-Identifier: Apache-2.0
// octet bench: latency and throughput of an engine on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/commands/bench_inputs.h"
#include "cli/commands/bench_runs.h"
#include "cli/commands/bench_selection.h"
#include "cli/commands/bench_streams.h"
#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/flags/share_flag.h"
#include "cli/output/outputs.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"
#include "octet/engine.h"
#include "octet/machine.h"
#include "octet/profile.h"
#include "octet/spread.h"

namespace octet::cli::bench_cli {
namespace {

constexpr CommandHelp kHelp{
    "bench", "Measure latency and throughput on this machine",
    "One run is one batch through the engine; planning and the first runs are not counted. What "
    "they\n"
    "take stands in the line 'start': reading the engine, planning it for this machine, the first "
    "run.\n\n"
    "Examples:\n"
    "  octet bench resnet20.octet --threads 1 --batch 1\n"
    "  octet bench yolo.octet --shape images:1x3x416x416 --seconds 5\n"
    "  octet bench bert.octet --data sentence.npz        # tokens and masks as they are\n"
    "  octet bench resnet20.octet --streams 16           # sixteen callers in one process\n"
    "  octet bench resnet20.octet --device cuda:all      # a context on each GPU; total and each\n"
    "  octet bench resnet20.octet --device cuda --no-transfers  # data that are on the GPU\n"
    "  octet bench resnet20.onnx                         # the model itself, in FP32\n"
    "  octet bench resnet20.octet --iterations 100 --export-trace runs.json\n"
    "  octet bench resnet20.octet --layers               # the time of every layer\n"
    "  octet bench resnet20.octet --assert-selection     # is every layer's kernel the fastest?\n"
    "  octet bench resnet20.octet --tune here.json       # then: octet run --tuning here.json ...\n"
    "  octet bench --layer 'Relu(f32[1,64,56,56] nhwc) -> f32[1,64,56,56]'  # one layer alone\n"
    "  octet bench resnet20.octet --json | jq '.latency_ms.median'\n"};

struct Options : EngineFlags {
  BenchInputFlags inputs;
  std::string device = "cpu";
  int streams = 0;
  double seconds = 2;
  int64_t warmup = 10;
  int64_t iterations = 0;
  bool layers = false;
  bool no_chains = false;
  bool no_transfers = false;
  std::string layer;
  bool assert_selection = false;
  double tolerance = 0.1;
  Outputs outputs;
  Output* tune = nullptr;
  Output* runs = nullptr;
  Output* trace = nullptr;
  std::filesystem::path tuning;
};

void print_layer_times(const std::vector<LayerTime>& times, const std::string& device) {
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
      "byte once {}\n",
      spent, floor, device == "cpu" ? "from beyond L2" : "in the device's memory");
}

int run_layers(const Options& options) {
  const Engine engine = open_engine({options.engine, options.threads, options.model_flags});
  ProfileOptions profiled;
  profiled.threads = options.threads;
  profiled.device = options.device;
  profiled.tuning = read_tuning(options.tuning);
  profiled.chains = !options.no_chains;
  const auto times = profile(engine, bench_inputs(engine, options.inputs), profiled);
  if (!options.json) {
    print_layer_times(times, options.device);
    return kDone;
  }
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const LayerTime& time : times) {
    layers.push_back({{"name", time.layer.name},
                      {"op", time.layer.op},
                      {"precision", to_string(time.layer.precision)},
                      {"kernel", time.layer.kernel},
                      {"device", time.layer.device},
                      {"choice", to_string(time.layer.choice)},
                      {"signature", time.layer.signature},
                      {"macs", time.layer.macs},
                      {"time_us", time.microseconds},
                      {"microseconds", time.microseconds},  // of schema 1
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
  const Engine engine = open_engine({options.engine, options.threads, options.model_flags});
  return assert_selection(engine, bench_inputs(engine, options.inputs),
                          {options.threads, options.tolerance, options.json, *options.tune,
                           read_tuning(options.tuning), options.device});
}

// One caller on each device, or so many as --streams says.
int run_streams(const Options& options, const std::vector<std::string>& devices) {
  const Engine engine = open_engine({options.engine, options.threads, options.model_flags});
  return bench_streams(engine, bench_inputs(engine, options.inputs),
                       {std::max(1, options.streams), options.threads, options.seconds,
                        options.warmup, read_tuning(options.tuning), options.json, devices});
}

int run_layer(const Options& options) {
  return bench_layer(options.layer, {options.threads, options.tolerance, options.json,
                                     *options.tune, read_tuning(options.tuning), options.device});
}

int run(Options options) {
  options.engine = readable(options.engine);
  put_in_force(options.limits, options.engine);
  const std::vector<std::string> devices = devices_named(options.device);
  if (devices.size() == 1) options.device = devices[0];
  const bool whole_runs = options.layer.empty() && !options.assert_selection &&
                          !options.tune->given() && !options.layers && options.iterations == 0 &&
                          !options.runs->given() && !options.trace->given() && !options.no_chains &&
                          !options.no_transfers;
  if (devices.size() > 1 && !whole_runs)
    fail(Error::Code::invalid_argument,
         "several devices are measured by whole runs for --seconds; with other wishes name one of "
         "them");
  if (!options.layer.empty()) return run_layer(options);
  if (options.engine.empty())
    fail(Error::Code::invalid_argument, "nothing to measure; expected an ENGINE, or --layer");
  if (options.assert_selection || options.tune->given()) return run_selection(options);
  if (options.layers) return run_layers(options);
  if (options.streams > 0 || devices.size() > 1) return run_streams(options, devices);
  return bench_runs({{options.engine, options.threads, options.model_flags},
                     options.tuning,
                     options.inputs,
                     options.device,
                     options.seconds,
                     options.iterations,
                     options.warmup,
                     options.json,
                     !options.no_chains,
                     !options.no_transfers,
                     *options.runs,
                     *options.trace});
}

// How long one caller, or each of the streams, goes on.
void add_run_flags(CLI::App& app, Options& options) {
  app.add_option("--seconds", options.seconds, "measure for this long; warm up at most as long")
      ->type_name("S")
      ->capture_default_str()
      ->check(from_to(0.0, 3600.0));
  app.add_option("--iterations", options.iterations, "measure N runs instead")
      ->type_name("N")
      ->check(from_to(int64_t{1}, int64_t{1000000}));
  app.add_option("--warmup", options.warmup, "runs before measuring, at most; one is always made")
      ->type_name("N")
      ->capture_default_str()
      ->check(from(int64_t{0}));
  options.runs = &options.outputs.add_flag(
      app, {"--export-runs", "FILE.json", OutputKind::runs, "write the time of every run"});
  options.trace =
      &options.outputs.add_flag(app, {"--export-trace", "FILE.json", OutputKind::trace,
                                      "write the runs for chrome://tracing and Perfetto"});
}

// Kernels held against each other.
void add_selection_flags(CLI::App& app, Options& options) {
  app.add_flag("--assert-selection", options.assert_selection,
               "time every kernel that accepts a layer; exit 1 where a slower one was chosen");
  app.add_option("--tolerance", options.tolerance,
                 "share of the fastest kernel's time by which the chosen one may be slower")
      ->type_name("X")
      ->capture_default_str()
      ->transform(share_in({.whole = 1, .most = 10}));
  options.tune = &options.outputs.add_flag(app, {"--tune", "FILE", OutputKind::tuning,
                                                 "time every kernel that accepts a layer, and "
                                                 "write the fastest into this file for --tuning"});
  app.add_option("--layer", options.layer,
                 "time every kernel of one layer by itself, without an engine: the 'signature' "
                 "that inspect --json gives of it")
      ->type_name("SIGNATURE");
}

// Layers and kernels are timed by one caller: of two wishes one would be dropped.
void refuse_together(CLI::App& app) {
  for (const char* other : {"--streams", "--assert-selection", "--tune", "--layer"}) {
    app.get_option("--no-chains")->excludes(app.get_option(other));
    app.get_option("--no-transfers")->excludes(app.get_option(other));
  }
  app.get_option("--no-transfers")->excludes(app.get_option("--layers"));
  for (const char* other : {"--layers", "--assert-selection", "--tune"})
    app.get_option("--streams")->excludes(app.get_option(other));
  // These are of one caller's whole runs.
  for (const char* one : {"--iterations", "--export-runs", "--export-trace"}) {
    for (const char* other : {"--streams", "--layers", "--assert-selection", "--tune", "--layer"})
      app.get_option(one)->excludes(app.get_option(other));
  }
  // A layer alone has sizes of its own, and belongs to no engine.
  for (const char* other : {"engine", "--streams", "--batch", "--shape", "--data", "--layers",
                            "--assert-selection", "--tune"})
    app.get_option("--layer")->excludes(app.get_option(other));
  // The arrays have sizes.
  for (const char* other : {"--batch", "--shape"})
    app.get_option("--data")->excludes(app.get_option(other));
}

void add_flags(CLI::App& app, Options& options) {
  add_engine_argument(app, options.engine)->required(false);
  add_threads_flag(app, options.threads);
  add_devices_flag(app, options.device);
  app.add_option("--streams", options.streams,
                 "callers that run side by side, each with a context of --threads threads")
      ->type_name("N")
      ->check(from_to(1, 256));
  app.add_option("--batch", options.inputs.batch, "size of a dynamic first dimension")
      ->type_name("N")
      ->capture_default_str()
      ->check(from_to(int64_t{1}, int64_t{65536}));
  add_shape_flag(app, options.inputs.shapes);
  app.add_option("--data", options.inputs.data,
                 "arrays for the inputs of one run, by their names, instead of random numbers "
                 "(reals of 0 to 1, any codes of 8 bits, wider integers all 0)")
      ->type_name("FILE.npz|.npy");
  add_run_flags(app, options);
  add_selection_flags(app, options);
  add_tuning_flag(app, options.tuning);
  app.add_flag("--layers", options.layers, "time every layer by itself instead of whole runs");
  app.add_flag("--no-chains", options.no_chains,
               "run every layer by itself, also where the device has one kernel for several");
  app.add_flag("--no-transfers", options.no_transfers,
               "inputs and outputs stay in the device's memory, and runs follow each other without "
               "waiting");
  add_common_flags(app, options);
  refuse_together(app);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::bench_cli
