// SPDX-License-Identifier: Apache-2.0
// Statistics of a fixed trace, computed by hand, and the thresholds of the warnings.
#include "tensorrt/trtexec/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tensorrt/trtexec/profile_text.h"

namespace octet::cli::trtexec {
namespace {

// Queries one after another, each of so many milliseconds; transfers and enqueueing take a share of them.
std::vector<Trace> traces_of(const std::vector<float>& compute, float h2d = 0, float d2h = 0,
                             float enqueue = 0) {
  std::vector<Trace> traces;
  float at = 0;
  for (const float ms : compute) {
    Trace trace;
    trace.enqueue_start = trace.h2d_start = at;
    trace.enqueue_end = at + enqueue;
    trace.h2d_end = trace.compute_start = at + h2d;
    trace.compute_end = trace.d2h_start = trace.compute_start + ms;
    trace.d2h_end = at = trace.compute_end + d2h;
    traces.push_back(trace);
  }
  return traces;
}

ReportFlags without_warm_up() {
  ReportFlags flags;
  flags.warm_up_ms = 0;
  return flags;
}

bool holds(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST(TrtexecReport, Percentiles) {
  std::vector<float> sorted(10);
  for (size_t i = 0; i < 10; ++i) sorted[i] = static_cast<float>(i + 1);
  EXPECT_EQ(percentile_of(100, sorted), 10);
  EXPECT_EQ(percentile_of(99, sorted), 10);
  EXPECT_EQ(percentile_of(90, sorted), 9);
  EXPECT_EQ(percentile_of(50, sorted), 5);
  EXPECT_EQ(percentile_of(0, sorted), 1);
  EXPECT_EQ(percentile_of(90, {3}), 3);
  EXPECT_TRUE(std::isinf(percentile_of(90, {})));
}

TEST(TrtexecReport, MedianAndVariation) {
  EXPECT_EQ(median_of({1, 2, 10}), 2);
  EXPECT_EQ(median_of({1, 2, 4, 10}), 3);
  // Deviations -1 and 1 around 2.
  EXPECT_EQ(variation_of({1, 3}, 2), 50);
  EXPECT_EQ(variation_of({}, 2), 0);
}

TEST(TrtexecReport, SummaryOfAFixedTrace) {
  const Report report = performance_report(traces_of({1, 2, 3, 4}, 0.5f, 0.25f), without_warm_up());
  EXPECT_EQ(report.info[0], "Warmup completed 0 queries over 0 ms");
  EXPECT_EQ(report.info[1], "Timing trace has 4 queries over 0.013 s");
  EXPECT_TRUE(holds(report.info, "=== Performance summary ==="));
  EXPECT_TRUE(holds(report.info, "Throughput: 307.692 qps"));
  EXPECT_TRUE(
      holds(report.info,
            "Latency: min = 1.75 ms, max = 4.75 ms, mean = 3.25 ms, median = 3.25 ms, "
            "percentile(90%) = 4.75 ms, percentile(95%) = 4.75 ms, percentile(99%) = 4.75 ms"));
  EXPECT_TRUE(holds(report.info,
                    "GPU Compute Time: min = 1 ms, max = 4 ms, mean = 2.5 ms, median = 2.5 ms, "
                    "percentile(90%) = 4 ms, percentile(95%) = 4 ms, percentile(99%) = 4 ms"));
  EXPECT_TRUE(
      holds(report.info,
            "H2D Latency: min = 0.5 ms, max = 0.5 ms, mean = 0.5 ms, median = 0.5 ms, "
            "percentile(90%) = 0.5 ms, percentile(95%) = 0.5 ms, percentile(99%) = 0.5 ms"));
  EXPECT_TRUE(holds(report.info, "Total Host Walltime: 0.013 s"));
  EXPECT_TRUE(holds(report.info, "Total GPU Compute Time: 0.01 s"));
}

TEST(TrtexecReport, QueriesThatBeganInTheWarmUpDoNotCount) {
  ReportFlags flags;
  flags.warm_up_ms = 3;
  const Report report = performance_report(traces_of({1, 2, 3, 4}), flags);
  EXPECT_EQ(report.info[0], "Warmup completed 2 queries over 3 ms");
  EXPECT_EQ(report.info[1], "Timing trace has 2 queries over 0.007 s");
}

TEST(TrtexecReport, Averages) {
  ReportFlags flags = without_warm_up();
  flags.runs_per_average = 2;
  const Report report = performance_report(traces_of({1, 2, 3, 4, 9}, 0.5f), flags);
  EXPECT_EQ(report.info[3], "=== Trace details ===");
  EXPECT_EQ(report.info[4], "Trace averages of 2 runs:");
  EXPECT_EQ(report.info[5],
            "Average on 2 runs - GPU latency: 1.5 ms - Host latency: 2 ms (enqueue 0 ms)");
  EXPECT_EQ(report.info[6],
            "Average on 2 runs - GPU latency: 3.5 ms - Host latency: 4 ms (enqueue 0 ms)");
  EXPECT_EQ(report.info[7], "");
}

TEST(TrtexecReport, ManyAveragesAreOmitted) {
  ReportFlags flags = without_warm_up();
  flags.runs_per_average = 1;
  const std::vector<Trace> traces = traces_of(std::vector<float>(500, 1.0f));
  const auto averages = [&] {
    const Report report = performance_report(traces, flags);
    EXPECT_EQ(holds(report.info, "... Omitting 100 lines"), flags.omits_lines);
    return std::count_if(report.info.begin(), report.info.end(),
                         [](const std::string& line) { return line.starts_with("Average on"); });
  };
  EXPECT_EQ(averages(), 401);  // the gap ends one query early
  flags.omits_lines = false;
  EXPECT_EQ(averages(), 500);
}

// Each warning at its threshold and just below it.
TEST(TrtexecReport, Warnings) {
  const auto warnings = [](const std::vector<Trace>& traces, ReportFlags flags) {
    return performance_report(traces, flags).warnings;
  };
  const ReportFlags flags = without_warm_up();
  EXPECT_TRUE(warnings(traces_of({4, 4, 4}), flags).empty());
  EXPECT_TRUE(warnings(traces_of({4, 4, 4}, 0, 0, 3), flags).empty());
  EXPECT_EQ(warnings(traces_of({4, 4, 4}, 0, 0, 3.5f), flags)[0],
            "* Throughput may be bound by Enqueue Time rather than GPU Compute and the GPU may be "
            "under-utilized.");
  EXPECT_EQ(warnings(traces_of({4, 4, 4}, 4), flags)[0],
            "* Throughput may be bound by host-to-device transfers for the inputs rather than GPU "
            "Compute and the GPU may be under-utilized.");
  EXPECT_EQ(warnings(traces_of({4, 4, 4}, 0, 4), flags)[1],
            "  Add --noDataTransfers flag to disable data transfers.");
  // Deviation 2 % of the mean: unstable for 8.6, not for 10.x.
  const std::vector<Trace> shaky = traces_of({0.98f, 1.02f});
  EXPECT_TRUE(warnings(shaky, flags).empty());
  ReportFlags old = flags;
  old.unstable_percent = 1;
  EXPECT_TRUE(warnings(shaky, old)[0].starts_with(
      "* GPU compute time is unstable, with coefficient of variance = 2"));
  ReportFlags streams = flags;
  streams.streams = 2;
  EXPECT_TRUE(warnings(traces_of({4, 4}), streams)[0].starts_with(
      "* Multiple inference streams are used."));
}

TEST(TrtexecReport, TimesAsJson) {
  EXPECT_EQ(
      times_json(traces_of({1, 2}, 0.5f), 1),
      "[\n  { \"startEnqMs\" : 1.5, \"endEnqMs\" : 1.5, \"startH2dMs\" : 1.5, \"endH2dMs\" : 2, "
      "\"startComputeMs\" : 2, \"endComputeMs\" : 4, \"startD2hMs\" : 4, \"endD2hMs\" : 4, "
      "\"h2dMs\" : 0.5, \"computeMs\" : 2, \"d2hMs\" : 0, \"latencyMs\" : 2.5 }\n]\n");
}

TEST(TrtexecProfile, TableAndJson) {
  const std::vector<LayerTimes> layers = {
      {"conv + relu", {1, 2, 6}}, {"never", {0, 0, 0}}, {"a \"b\"", {1, 1, 1}}};
  const std::vector<std::string> table = profile_table(layers);
  EXPECT_EQ(table[1], "=== Profile (3 iterations ) ===");
  EXPECT_EQ(table[2], "   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer");
  EXPECT_EQ(table[3], "       9.00       3.0000       2.0000      75.0   conv + relu");
  EXPECT_EQ(table[4], "       3.00       1.0000       1.0000      25.0   a \"b\"");
  EXPECT_EQ(table[5], "      12.00       4.0000       3.0000     100.0   Total");
  EXPECT_EQ(profile_json(layers),
            "[\n  { \"count\" : 3 }\n"
            ", { \"name\" : \"conv + relu\", \"timeMs\" : 9, \"averageMs\" : 3, \"medianMs\" : 2, "
            "\"percentage\" : 75 }\n"
            ", { \"name\" : \"never\", \"timeMs\" : 0, \"averageMs\" : 0, \"medianMs\" : 0, "
            "\"percentage\" : 0 }\n"
            ", { \"name\" : \"a \\\"b\\\"\", \"timeMs\" : 3, \"averageMs\" : 1, \"medianMs\" : 1, "
            "\"percentage\" : 25 }\n]\n");
}

}  // namespace
}  // namespace octet::cli::trtexec
