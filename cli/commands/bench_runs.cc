// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_runs.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "cli/command.h"
#include "cli/commands/bench_calls.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/half_flags.h"
#include "cli/output/progress.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/data_checks.h"
#include "cli/samples/engine_source.h"
#include "octet/inspect.h"
#include "octet/json.h"
#include "octet/machine.h"
#include "octet/nan_trace.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int64_t kMaxRuns = 1'000'000;
constexpr double kDrawSeconds = 0.2;
constexpr const char* kMeasure = "measure";

// The time of all threads of this process: what other programs on the machine do not stretch.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Run {
  double begin_ms = 0;  // since the first began
  double milliseconds = 0;
  double processor_ms = 0;
};

struct Measured {
  double load_ms = 0;     // reading and checking the file, or compiling the model
  double prepare_ms = 0;  // plan and weights packed for this machine
  double first_run_ms = 0;
  int64_t warmup_runs = 0;  // the first included
  std::vector<Run> runs;
  int64_t runs_of_call = 1;  // each of `runs` is the mean of so many
  double total_seconds = 0;
  std::vector<Shape> shapes;
  Coverage coverage;
  std::string precision;
  DataChecks checks = {};                  // of the numbers that it runs on
  bool finite = true;                      // all outputs of the last run
  std::vector<double> latency, processor;  // sorted

  double mean() const {
    return std::accumulate(latency.begin(), latency.end(), 0.0) /
           static_cast<double>(latency.size());
  }
  // The first dimension of the first input, where it has one.
  int64_t batch() const { return shapes.empty() || shapes[0].rank() == 0 ? 1 : shapes[0][0]; }
  int64_t run_count() const { return static_cast<int64_t>(runs.size()) * runs_of_call; }
  double throughput() const { return static_cast<double>(run_count() * batch()) / total_seconds; }
};

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

// The one type of all layers that compute on reals, or on codes that stand for them.
std::string precision_of(const Inspection& inspection) {
  std::set<std::string_view> types;
  for (const LayerInfo& layer : inspection.layers) {
    const bool real = std::ranges::any_of(
        layer.output_types, [](const TensorType& type) { return type.dtype == Dtype::f32; });
    if (layer.conversion || (!real && layer.precision != Precision::int8)) continue;
    types.insert(to_string(layer.precision));
  }
  if (types.empty()) return "f32";
  return types.size() == 1 ? std::string(*types.begin()) : "mixed";
}

class Bench {
 public:
  Bench(const RunFlags& flags, Measured& result)
      : flags_(flags), result_(result), progress_(flags.json) {}

  void measure() {
    const auto tuning = read_tuning(flags_.tuning);
    progress_.update({"load", 0, 0});
    auto start = Clock::now();
    const Engine engine = open_engine(flags_.engine);
    result_.load_ms = seconds_since(start) * 1e3;
    const std::vector<Tensor> inputs = bench_inputs(engine, flags_.inputs);
    result_.shapes = shapes_of(inputs);
    const Inspection planned = inspect(
        engine, {result_.shapes, flags_.engine.threads, tuning, flags_.device, flags_.chains});
    result_.coverage = planned.coverage;
    result_.precision = precision_of(planned);
    if (const std::string slow = slow_halves(planned.layers); !slow.empty()) print_warning(slow);
    if (tuning != nullptr) warn_of_stale_choices(planned.layers, flags_.tuning);
    progress_.update({"plan", 0, 0});
    start = Clock::now();
    Context context =
        engine.make_context({flags_.engine.threads, tuning, flags_.device, nullptr, flags_.chains});
    context.prepare(result_.shapes, flags_.transfers ? "cpu" : device_info(flags_.device).name);
    result_.prepare_ms = seconds_since(start) * 1e3;
    InputWatch watch(known_inputs(engine));
    watch.add(inputs);
    result_.checks.clipped = watch.clipped();
    run_all(context, inputs);
    progress_.finish();
  }

 private:
  void run_all(Context& context, const std::vector<Tensor>& inputs) {
    progress_.update({"warm up", 0, flags_.warmup});
    auto start = Clock::now();
    const BenchCalls calls = flags_.transfers ? calls_with_transfers(context, inputs)
                                              : calls_on_device(context, inputs, flags_.device);
    result_.runs_of_call = calls.runs;
    result_.first_run_ms = seconds_since(start) * 1e3;
    // The first run is part of the warm-up, which ends early where a run takes long: ten runs of a second tell no more than two.
    for (result_.warmup_runs = 1;
         result_.warmup_runs < flags_.warmup && seconds_since(start) < flags_.seconds;
         ++result_.warmup_runs) {
      calls.give();
      progress_.update({"warm up", result_.warmup_runs + 1, flags_.warmup});
    }
    result_.runs.reserve(1 << 16);
    progress_.update({kMeasure, 0, 0});
    start = Clock::now();
    while (!is_enough()) {
      Run run{seconds_since(start) * 1e3, 0, 0};
      const auto begin = Clock::now();
      const double processor_start = processor_ms();
      calls.give();
      const auto share = static_cast<double>(calls.runs);
      run.processor_ms = (processor_ms() - processor_start) / share;
      run.milliseconds = seconds_since(begin) * 1e3 / share;
      result_.runs.push_back(run);
      result_.total_seconds = seconds_since(start);
      report();
    }
    progress_.update({kMeasure, static_cast<int64_t>(result_.runs.size()), 0});
    result_.finite = !any_not_finite(calls.outputs());
  }

  bool is_enough() const {
    const int64_t runs = result_.run_count();
    if (flags_.iterations > 0) return runs >= flags_.iterations;
    return runs > 0 && (result_.total_seconds >= flags_.seconds || runs >= kMaxRuns);
  }

  // How far it is by runs where they are counted, by time where that ends it; drawing does not follow every run.
  void report() {
    if (result_.total_seconds - drawn_ < kDrawSeconds) return;
    drawn_ = result_.total_seconds;
    const auto in_ms = [](double seconds) { return static_cast<int64_t>(seconds * 1e3); };
    if (flags_.iterations > 0) {
      progress_.update({kMeasure, static_cast<int64_t>(result_.runs.size()), flags_.iterations});
    } else {
      progress_.update({kMeasure, in_ms(result_.total_seconds), in_ms(flags_.seconds)});
    }
  }

  const RunFlags& flags_;
  Measured& result_;
  ProgressBar progress_;
  double drawn_ = 0;
};

Measured measure(const RunFlags& flags) {
  Measured result;
  Bench(flags, result).measure();
  for (const Run& run : result.runs) {
    result.latency.push_back(run.milliseconds);
    result.processor.push_back(run.processor_ms);
  }
  std::ranges::sort(result.latency);
  std::ranges::sort(result.processor);
  return result;
}

// Which program measured what, and where.
Json subject(const RunFlags& flags, const Measured& measured) {
  const DeviceInfo device = device_info(flags.device);
  return {{"version", OCTET_VERSION},
          {"model", with_known_names(flags.engine.path.string())},
          {"precision", measured.precision},
          {"coverage", parsed(to_json(measured.coverage))},
          {"device", flags.device},
          {"cpu", device_info("cpu").chip},
          {"isa", device.level},
          {"threads", flags.engine.threads},
          {"batch", measured.batch()}};
}

void print_object(const RunFlags& flags, const Measured& m) {
  Json object = {
      {"latency_ms",
       {{"median", quantile_of(m.latency, 0.5)},
        {"p90", quantile_of(m.latency, 0.9)},
        {"p95", quantile_of(m.latency, 0.95)},
        {"p99", quantile_of(m.latency, 0.99)},
        {"mean", m.mean()},
        {"min", m.latency.front()},
        {"max", m.latency.back()}}},
      {"processor_ms", {{"median", quantile_of(m.processor, 0.5)}, {"min", m.processor.front()}}},
      {"start_ms", {{"load", m.load_ms}, {"prepare", m.prepare_ms}, {"first_run", m.first_run_ms}}},
      {"peak_memory_bytes", peak_memory_bytes()},
      {"samples_per_second", m.throughput()},
      {"throughput", m.throughput()},  // of schema 1
      {"runs", m.run_count()},
      {"warmup_runs", m.warmup_runs * m.runs_of_call},
      {"clipped", clipped_json(m.checks.clipped)}};
  object.update(subject(flags, m));
  print_json(object);
}

void print_text(const RunFlags& flags, const Measured& m) {
  fmt::print(
      "latency     median {:.3f} ms, p90 {:.3f}, p95 {:.3f}, p99 {:.3f}, mean {:.3f}, min {:.3f}\n",
      quantile_of(m.latency, 0.5), quantile_of(m.latency, 0.9), quantile_of(m.latency, 0.95),
      quantile_of(m.latency, 0.99), m.mean(), m.latency.front());
  fmt::print("throughput  {:.1f} samples/s (batch {}, {} thread{}, {} runs, {})\n", m.throughput(),
             m.batch(), flags.engine.threads, flags.engine.threads == 1 ? "" : "s", m.run_count(),
             device_info(flags.device).level);
  fmt::print("start       load {:.1f} ms, plan {:.1f} ms, first run {:.1f} ms\n", m.load_ms,
             m.prepare_ms, m.first_run_ms);
  fmt::print("memory      {:.1f} MiB at most\n",
             static_cast<double>(peak_memory_bytes()) / (1 << 20));
}

Json runs_json(const RunFlags& flags, const Measured& measured) {
  Json runs = Json::array();
  for (const Run& run : measured.runs) {
    runs.push_back(
        {{"begin_ms", run.begin_ms}, {"ms", run.milliseconds}, {"processor_ms", run.processor_ms}});
  }
  Json object = {{"format", "octet-runs"}};
  object.update(subject(flags, measured));
  object["runs"] = std::move(runs);
  return object;
}

// Chrome's trace events: https://ui.perfetto.dev and chrome://tracing show them. Times are in microseconds.
Json trace_json(const RunFlags& flags, const Measured& measured) {
  Json events = Json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", 1},
                    {"tid", 1},
                    {"args", {{"name", "octet bench " + flags.engine.path.filename().string()}}}});
  for (const Run& run : measured.runs) {
    events.push_back({{"name", "run"},
                      {"ph", "X"},
                      {"ts", run.begin_ms * 1e3},
                      {"dur", run.milliseconds * 1e3},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"processor_ms", run.processor_ms}}}});
  }
  return {{"otherData", subject(flags, measured)},
          {"displayTimeUnit", "ms"},
          {"traceEvents", std::move(events)}};
}

}  // namespace

double quantile_of(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

int bench_runs(const RunFlags& flags) {
  const Measured measured = measure(flags);
  for (const std::string& warning : measured.checks.warnings()) print_warning(warning);
  if (!measured.finite)
    print_warning(
        "outputs are NaN or infinite: such runs may take paths that those on real data do not, and "
        "other times; measure on real ones by --data FILE.npz (octet run says where they come "
        "from)");
  if (flags.runs.given()) write(flags.runs, runs_json(flags, measured));
  if (flags.trace.given()) write(flags.trace, trace_json(flags, measured));
  flags.json ? print_object(flags, measured) : print_text(flags, measured);
  return kDone;
}

}  // namespace octet::cli
