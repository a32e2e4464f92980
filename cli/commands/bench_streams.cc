// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/output/terminal.h"
#include "octet/machine.h"
#include "octet/threads.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double elapsed(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One caller. What it measured is read when its thread has ended.
struct Stream {
  std::string device;
  std::vector<double> milliseconds;  // of each run; sorted at the end
  double seconds = 0;                // of all of them

  double quantile(double q) const {
    return milliseconds[static_cast<size_t>(q * static_cast<double>(milliseconds.size() - 1) +
                                            0.5)];
  }
  double runs_per_second() const { return static_cast<double>(milliseconds.size()) / seconds; }
};

class Streams {
 public:
  Streams(const Engine& engine, std::span<const Tensor> inputs, const StreamFlags& flags)
      : engine_(engine),
        inputs_(inputs),
        flags_(flags),
        ready_(flags.streams * std::ssize(flags.devices)) {
    for (const std::string& device : flags.devices) {
      for (int i = 0; i < flags.streams; ++i) streams_.push_back({device, {}, 0});
    }
    run_threads(static_cast<int>(streams_.size()),
                [&](int i) { run(streams_[static_cast<size_t>(i)]); });
  }

  std::vector<Stream> take() { return std::move(streams_); }

 private:
  void run(Stream& stream) {
    try {
      Context context = engine_.make_context({flags_.threads, flags_.tuning, stream.device});
      const auto start = Clock::now();
      std::vector<Tensor> outputs = context.run(inputs_);
      for (int64_t i = 1; i < flags_.warmup && elapsed(start) < flags_.seconds; ++i)
        context.run_into(inputs_, outputs);
      stream.milliseconds.reserve(1 << 16);
      ready_.arrive_and_wait();
      measure(context, outputs, stream);
    } catch (...) {
      ready_.arrive_and_drop();
      throw;
    }
  }

  void measure(Context& context, std::vector<Tensor>& outputs, Stream& stream) const {
    const auto start = Clock::now();
    do {
      const auto run_start = Clock::now();
      context.run_into(inputs_, outputs);
      stream.milliseconds.push_back(elapsed(run_start) * 1e3);
      stream.seconds = elapsed(start);
    } while (stream.seconds < flags_.seconds);
    std::ranges::sort(stream.milliseconds);
  }

  const Engine& engine_;
  const std::span<const Tensor> inputs_;
  const StreamFlags& flags_;
  std::barrier<> ready_;
  std::vector<Stream> streams_;
};

Json to_json(const Stream& stream, double samples) {
  return {{"device", stream.device},
          {"latency_ms",
           {{"median", stream.quantile(0.5)},
            {"p90", stream.quantile(0.9)},
            {"p95", stream.quantile(0.95)},
            {"p99", stream.quantile(0.99)},
            {"min", stream.milliseconds.front()},
            {"max", stream.milliseconds.back()}}},
          {"samples_per_second", samples * stream.runs_per_second()},
          {"throughput", samples * stream.runs_per_second()},  // of schema 1
          {"runs", stream.milliseconds.size()}};
}

void print_table(const std::vector<Stream>& streams, double samples) {
  Table table({{"STREAM"},
               {"DEVICE"},
               {"P50 MS", true},
               {"P90", true},
               {"P95", true},
               {"P99", true},
               {"RUNS", true},
               {"SAMPLES/S", true}});
  for (size_t i = 0; i < streams.size(); ++i) {
    const Stream& s = streams[i];
    const auto ms = [&](double q) { return fmt::format("{:.3f}", s.quantile(q)); };
    table.add({std::to_string(i), s.device, ms(0.5), ms(0.9), ms(0.95), ms(0.99),
               std::to_string(s.milliseconds.size()),
               fmt::format("{:.1f}", samples * s.runs_per_second())});
  }
  table.print();
}

// What the streams of one device do together.
double throughput_of(const std::vector<Stream>& streams, std::string_view device, double samples) {
  double total = 0;
  for (const Stream& stream : streams)
    total += stream.device == device ? samples * stream.runs_per_second() : 0;
  return total;
}

// Samples of one run: the first dimension of the first input, where it has one.
int64_t samples_of(std::span<const Tensor> inputs) {
  return inputs.empty() || inputs[0].shape().rank() == 0 ? 1 : inputs[0].shape()[0];
}

std::string device_text(const Json& device) {
  return fmt::format("{}, {}", device["device"].get<std::string>(),
                     device["isa"].get<std::string>());
}

}  // namespace

int bench_streams(const Engine& engine, std::span<const Tensor> inputs, const StreamFlags& flags) {
  const std::vector<Stream> streams = Streams(engine, inputs, flags).take();
  const int64_t batch = samples_of(inputs);
  const auto samples = static_cast<double>(batch);
  double total = 0;
  Json devices = Json::array();
  for (const std::string& device : flags.devices) {
    const double own = throughput_of(streams, device, samples);
    devices.push_back({{"device", device},
                       {"isa", device_info(device).level},
                       {"samples_per_second", own},
                       {"throughput", own}});
    total += own;
  }
  if (!flags.json) {
    print_table(streams, samples);
    for (const Json& device : devices)
      fmt::print("\nthroughput  {:.1f} samples/s ({} stream{} of {} thread{}, batch {}, {})",
                 device["samples_per_second"].get<double>(), flags.streams,
                 flags.streams == 1 ? "" : "s", flags.threads, flags.threads == 1 ? "" : "s", batch,
                 device_text(device));
    fmt::print("\n");
    if (devices.size() > 1) fmt::print("together    {:.1f} samples/s\n", total);
    return kDone;
  }
  Json each = Json::array();
  for (const Stream& stream : streams) each.push_back(to_json(stream, samples));
  print_json({{"samples_per_second", total},
              {"throughput", total},  // of schema 1
              {"streams", std::move(each)},
              {"batch", batch},
              {"threads", flags.threads},
              {"device", flags.devices[0]},
              {"isa", devices[0]["isa"]},
              {"devices", devices}});
  return kDone;
}

}  // namespace octet::cli
