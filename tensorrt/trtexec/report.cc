// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

namespace octet::cli::trtexec {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kEnqueueBound = 0.8f;
// Of averages, so many are printed at the beginning and at the end.
constexpr size_t kPrintedAverages = 200;

std::string short_number(float value) { return fmt::format("{:g}", value); }

struct Metric {
  float min, max, mean, median, variation;
  std::vector<float> percentiles;
};

Metric metric_of(const std::vector<Timing>& timings, const std::function<float(const Timing&)>& get,
                 const std::vector<float>& percentiles) {
  std::vector<float> values(timings.size());
  std::ranges::transform(timings, values.begin(), get);
  std::ranges::sort(values);
  Metric metric{};
  metric.min = values.front();
  metric.max = values.back();
  metric.mean =
      std::accumulate(values.begin(), values.end(), 0.0f) / static_cast<float>(values.size());
  metric.median = median_of(values);
  metric.variation = variation_of(values, metric.mean);
  for (const float percentile : percentiles)
    metric.percentiles.push_back(percentile_of(percentile, values));
  return metric;
}

std::string metric_text(const Metric& metric, const std::vector<float>& percentiles) {
  std::string text = fmt::format("min = {} ms, max = {} ms, mean = {} ms, median = {} ms",
                                 short_number(metric.min), short_number(metric.max),
                                 short_number(metric.mean), short_number(metric.median));
  for (size_t i = 0; i < percentiles.size(); ++i)
    text += fmt::format(", percentile({}%) = {} ms", short_number(percentiles[i]),
                        short_number(metric.percentiles[i]));
  return text;
}

std::string average_text(std::span<const Timing> timings) {
  Timing sum;
  for (const Timing& timing : timings) {
    sum.enqueue += timing.enqueue;
    sum.h2d += timing.h2d;
    sum.compute += timing.compute;
    sum.d2h += timing.d2h;
  }
  const auto n = static_cast<float>(timings.size());
  return fmt::format(
      "Average on {} runs - GPU latency: {} ms - Host latency: {} ms (enqueue {} ms)",
      timings.size(), short_number(sum.compute / n), short_number(sum.latency() / n),
      short_number(sum.enqueue / n));
}

void add_averages(const std::vector<Timing>& timings, const ReportFlags& flags, Report& report) {
  const auto runs = static_cast<size_t>(flags.runs_per_average);
  report.info.insert(
      report.info.end(),
      {"", "=== Trace details ===", fmt::format("Trace averages of {} runs:", runs)});
  const size_t kept = kPrintedAverages * runs;
  const bool omits = flags.omits_lines && timings.size() > 2 * kept;
  // What follows the gap begins one query early, as it always did.
  for (size_t at = 0; at + runs <= timings.size(); at += runs) {
    if (omits && at == kept) {
      report.info.push_back(fmt::format("... Omitting {} lines", timings.size() - 2 * kept));
      at = timings.size() - kept - 1;
    }
    report.info.push_back(average_text(std::span(timings).subspan(at, runs)));
  }
}

void add_transfer_warning(const char* what, const char* of, Report& report) {
  report.warnings.push_back(fmt::format(
      "* Throughput may be bound by {} transfers for the {} rather than GPU Compute and "
      "the GPU may be under-utilized.",
      what, of));
  report.warnings.push_back("  Add --noDataTransfers flag to disable data transfers.");
}

struct Metrics {
  Metric latency, enqueue, h2d, compute, d2h;
};

void add_warnings(const Metrics& m, const ReportFlags& flags, Report& report) {
  if (m.enqueue.median > kEnqueueBound * m.compute.median) {
    report.warnings.push_back(
        "* Throughput may be bound by Enqueue Time rather than GPU Compute and the GPU may be "
        "under-utilized.");
    report.warnings.push_back(
        "  If not already in use, --useCudaGraph (utilize CUDA graphs where possible) may increase "
        "the throughput.");
  }
  if (m.h2d.median >= m.compute.median) add_transfer_warning("host-to-device", "inputs", report);
  if (m.d2h.median >= m.compute.median) add_transfer_warning("device-to-host", "outputs", report);
  if (m.compute.variation > flags.unstable_percent) {
    report.warnings.push_back(
        fmt::format("* GPU compute time is unstable, with coefficient of variance = {}%.",
                    short_number(m.compute.variation)));
    report.warnings.push_back(
        "  If not already in use, locking GPU clock frequency or adding --useSpinWait may improve "
        "the stability.");
  }
  if (flags.streams > 1) {
    report.warnings.push_back(
        "* Multiple inference streams are used. Latencies may not be accurate since inferences may "
        "run in   parallel. Please use \"Throughput\" as the performance metric instead.");
  }
}

void add_summary(const Metrics& m, size_t queries, float walltime_ms, const ReportFlags& flags,
                 Report& report) {
  const auto count = static_cast<float>(queries);
  const auto line = [&](const char* name, const Metric& metric) {
    report.info.push_back(fmt::format("{}: {}", name, metric_text(metric, flags.percentiles)));
  };
  report.info.insert(report.info.end(), {"", "=== Performance summary ==="});
  report.info.push_back(
      fmt::format("Throughput: {} qps", short_number(count / walltime_ms * 1000)));
  line("Latency", m.latency);
  line("Enqueue Time", m.enqueue);
  line("H2D Latency", m.h2d);
  line("GPU Compute Time", m.compute);
  line("D2H Latency", m.d2h);
  report.info.push_back(fmt::format("Total Host Walltime: {} s", short_number(walltime_ms / 1000)));
  report.info.push_back(
      fmt::format("Total GPU Compute Time: {} s", short_number(m.compute.mean * count / 1000)));
}

std::vector<std::string> explanations() {
  return {
      "",
      "=== Explanations of the performance metrics ===",
      "Total Host Walltime: the host walltime from when the first query (after warmups) is "
      "enqueued "
      "to when the last query is completed.",
      "GPU Compute Time: the GPU latency to execute the kernels for a query.",
      "Total GPU Compute Time: the summation of the GPU Compute Time of all the queries. If this "
      "is "
      "significantly shorter than Total Host Walltime, the GPU may be under-utilized because of "
      "host-side overheads or data transfers.",
      "Throughput: the observed throughput computed by dividing the number of queries by the Total "
      "Host Walltime. If this is significantly lower than the reciprocal of GPU Compute Time, the "
      "GPU may be under-utilized because of host-side overheads or data transfers.",
      "Enqueue Time: the host latency to enqueue a query. If this is longer than GPU Compute Time, "
      "the GPU may be under-utilized.",
      "H2D Latency: the latency for host-to-device data transfers for input tensors of a single "
      "query.",
      "D2H Latency: the latency for device-to-host data transfers for output tensors of a single "
      "query.",
      "Latency: the summation of H2D Latency, GPU Compute Time, and D2H Latency. This is the "
      "latency "
      "to infer a single query.",
  };
}

}  // namespace

Timing timing_of(const Trace& trace) {
  return {trace.enqueue_end - trace.enqueue_start, trace.h2d_end - trace.h2d_start,
          trace.compute_end - trace.compute_start, trace.d2h_end - trace.d2h_start};
}

float percentile_of(float percentile, const std::vector<float>& sorted) {
  if (sorted.empty()) return kInfinity;
  const auto all = static_cast<int>(sorted.size());
  const auto exclude = static_cast<int>((1 - percentile / 100) * static_cast<float>(all));
  return sorted[static_cast<size_t>(std::max(all - 1 - exclude, 0))];
}

float median_of(const std::vector<float>& sorted) {
  if (sorted.empty()) return kInfinity;
  const size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

float variation_of(const std::vector<float>& values, float mean) {
  if (values.empty()) return 0;
  if (mean == 0) return kInfinity;
  float sum = 0;
  for (const float value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<float>(values.size())) / mean * 100;
}

size_t warm_up_queries(const std::vector<Trace>& traces, float warm_up_ms) {
  const auto first = std::ranges::find_if(
      traces, [&](const Trace& trace) { return trace.compute_start >= warm_up_ms; });
  return static_cast<size_t>(first - traces.begin());
}

Report performance_report(const std::vector<Trace>& traces, const ReportFlags& flags) {
  const size_t warm_ups = warm_up_queries(traces, flags.warm_up_ms);
  std::vector<Timing> timings(traces.size() - warm_ups);
  std::transform(traces.begin() + static_cast<ptrdiff_t>(warm_ups), traces.end(), timings.begin(),
                 timing_of);
  const float walltime_ms = traces.back().d2h_end - traces[warm_ups].h2d_start;
  Report report;
  report.info.push_back(fmt::format("Warmup completed {} queries over {} ms", warm_ups,
                                    short_number(flags.warm_up_ms)));
  report.info.push_back(fmt::format("Timing trace has {} queries over {} s", timings.size(),
                                    short_number(walltime_ms / 1000)));
  add_averages(timings, flags, report);
  const auto metric = [&](const std::function<float(const Timing&)>& get) {
    return metric_of(timings, get, flags.percentiles);
  };
  const Metrics metrics = {metric([](const Timing& t) { return t.latency(); }),
                           metric([](const Timing& t) { return t.enqueue; }),
                           metric([](const Timing& t) { return t.h2d; }),
                           metric([](const Timing& t) { return t.compute; }),
                           metric([](const Timing& t) { return t.d2h; })};
  add_summary(metrics, timings.size(), walltime_ms, flags, report);
  add_warnings(metrics, flags, report);
  report.verbose = explanations();
  return report;
}

std::string times_json(const std::vector<Trace>& traces, size_t first) {
  std::string text = "[\n";
  for (size_t i = first; i < traces.size(); ++i) {
    const Trace& t = traces[i];
    const Timing timing = timing_of(t);
    text += fmt::format(
        "{}{{ \"startEnqMs\" : {:g}, \"endEnqMs\" : {:g}, \"startH2dMs\" : {:g}, \"endH2dMs\" : "
        "{:g}, "
        "\"startComputeMs\" : {:g}, \"endComputeMs\" : {:g}, \"startD2hMs\" : {:g}, \"endD2hMs\" : "
        "{:g}, \"h2dMs\" : {:g}, \"computeMs\" : {:g}, \"d2hMs\" : {:g}, \"latencyMs\" : {:g} }}\n",
        i == first ? "  " : ", ", t.enqueue_start, t.enqueue_end, t.h2d_start, t.h2d_end,
        t.compute_start, t.compute_end, t.d2h_start, t.d2h_end, timing.h2d, timing.compute,
        timing.d2h, timing.latency());
  }
  return text + "]\n";
}

}  // namespace octet::cli::trtexec
