// SPDX-License-Identifier: Apache-2.0
// The performance report: statistics as trtexec computes them, in single precision, and the texts around them.
#pragma once

#include <string>
#include <vector>

namespace octet::cli::trtexec {

// One query, in milliseconds since all streams began.
struct Trace {
  float enqueue_start = 0;
  float enqueue_end = 0;
  float h2d_start = 0;
  float h2d_end = 0;
  float compute_start = 0;
  float compute_end = 0;
  float d2h_start = 0;
  float d2h_end = 0;
};

struct Timing {
  float enqueue = 0;
  float h2d = 0;
  float compute = 0;
  float d2h = 0;

  float latency() const { return h2d + compute + d2h; }
};
Timing timing_of(const Trace& trace);

// Both of ascending numbers; infinite where there are none.
float percentile_of(float percentile, const std::vector<float>& sorted);
float median_of(const std::vector<float>& sorted);
// Standard deviation over mean in per cent.
float variation_of(const std::vector<float>& values, float mean);

struct ReportFlags {
  float warm_up_ms = 200;
  int runs_per_average = 10;
  std::vector<float> percentiles = {90, 95, 99};
  int streams = 1;
  float unstable_percent = 2.5f;  // 8.6: 1
  bool omits_lines = true;        // 10.x: of the averages
};

// The number of queries that began before the warm-up ended.
size_t warm_up_queries(const std::vector<Trace>& traces, float warm_up_ms);

struct Report {
  std::vector<std::string> info;
  std::vector<std::string> warnings;
  std::vector<std::string> verbose;
};
// Traces in the order of their beginnings; at least one after the warm-up.
Report performance_report(const std::vector<Trace>& traces, const ReportFlags& flags);

// What --exportTimes writes, of traces after the warm-up.
std::string times_json(const std::vector<Trace>& traces, size_t first);

}  // namespace octet::cli::trtexec
