// SPDX-License-Identifier: Apache-2.0
// The fastest assignment of precisions and ranges that keeps a metric of the caller's, or the most accurate within a time or a size: found by trials
// on one half of samples that calibration has not seen, and verified on the other.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/compile.h"
#include "octet/precision.h"
#include "octet/progress.h"
#include "octet/range.h"
#include "octet/sensitivity.h"
#include "octet/source_model.h"
#include "octet/tensor.h"

namespace octet {

struct SearchMetric {
  std::string name;  // "top1"
  std::string key;   // whatever else the value depends on, labels for example
  // Of the outputs `got` of the samples with these numbers, beside `truth`, which are the float model's. The greater the better, and finite.
  std::function<double(std::span<const size_t> which, OutputsOfSamples truth, OutputsOfSamples got)>
      value;
};

// At least one of them. With one of the first two the fastest that keeps all of them is looked for, else the most accurate.
struct SearchGoal {
  std::optional<double> most_drop;    // of the metric, below the float model
  std::optional<double> least_value;  // of the metric
  std::optional<double> most_us;      // of a run
  std::optional<int64_t> most_bytes;  // of the engine file
};

// One way to build the model, and what was measured of it. NaN: not measured.
struct SearchTrial {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  bool int8 = true;                        // false: nothing is
  std::optional<RangeMethod> method = {};  // of all ranges; nothing: as the build was told
  std::vector<std::string> real =
      {};  // layers that are not INT8, in the order in which they were taken
  std::vector<std::string> codes =
      {};                      // layers that are INT8 though the build would keep them real
  double value = 0;            // of the metric, on the half that is searched on
  double error = 0;            // power of the error over that of the outputs, there
  double verified = kUnknown;  // the metric on the other half
  double us = 0;               // the sum of its layers' times
  double run_us = kUnknown;    // of whole runs
  int64_t bytes = 0;           // of the engine file; 0: not made
  bool on_front = false;       // no trial is as fast and as accurate
};

// A layer that is not INT8 in the trial that was chosen.
struct RealLayer {
  std::string layer;
  std::string op;
  double cost =
      SearchTrial::kUnknown;  // what the metric would lose with it in INT8 as well; NaN: not tried
  double alone = 0;           // error of the outputs where it alone is INT8
  double saved_us = 0;        // that INT8 would take off
};

struct SearchResult {
  std::vector<SearchTrial> trials;  // the float model first, then in their order
  size_t chosen = 0;
  std::vector<RealLayer> real;                         // of the one that was chosen
  double fp32_verified = 0;                            // the float model's value on the other half
  int64_t searched_samples = 0, verified_samples = 0;  // the same samples where there is one only
  double passes = 0;      // runs of whole models over all samples, those of a journal included
  bool verified = false;  // the chosen one was measured on the other half
  bool stopped = false;   // by the monitor: it is the best so far
  bool met = false;       // the goal, as far as it was measured
};

struct SearchOptions {
  PrecisionPlan
      plan;  // what it keeps in float stays there; with f16 or bf16 that is what layers become
  std::vector<std::vector<Tensor>> samples;  // held out: inputs, in the order of Engine::inputs()
  SearchMetric metric;
  SearchGoal goal;
  int effort = 2;      // 1 to 3: how many trials
  bool ranges = true;  // other methods are tried than the one that the build was told
  int threads = 1;
  Monitor monitor = {};  // told of the work as stage "search"
  std::string key = {};  // whatever the calibration depends on that its data do not tell
  // As SensitivityOptions has them. With all that a search has measured the next one ends at the same trial, on any machine.
  std::function<std::optional<double>(const std::string& key)> recall = nullptr;
  std::function<void(const std::string& key, double value)> record = nullptr;
};

// Work at most, in runs of whole models over all samples.
double search_passes(int effort);

// Throws as sensitivity() does, and Error(cancelled) where it is stopped before anything meets the goal.
SearchResult search(const SourceModel& source, const SearchOptions& options);

// One measurement of a search.
struct SearchStep {
  // Of a trial: the metric on the half that is searched on, that on the other half, the time of whole runs, the size of the file. Of all layers:
  // their rank, and a part of the losses that it is made of.
  enum class Kind { value, verified, run_us, bytes, rank, rank_part };
  Kind kind = Kind::rank;
  SearchTrial trial = {};  // how it is built; the measured members do not count
  int part = 0;            // of SearchSteps::kRankParts
};

// A search whose measurements are done apart: by several threads with a SearchSteps each, processes or machines. What they record is put where
// `recall` finds it, and search() then gives what one machine makes of these records, measuring nothing.
class SearchSteps {
 public:
  static constexpr int kRankParts = 8;

  // Throws as search() does; calibrates where that was not done yet.
  SearchSteps(const SourceModel& source, SearchOptions options);
  ~SearchSteps();
  SearchSteps(SearchSteps&&) noexcept;
  SearchSteps& operator=(SearchSteps&&) noexcept;

  // At most so many measurements that search() lacks. The first is the one that it would do next; the others follow if those before them turn out
  // as guessed: trials do not keep what was asked, and a rank is worth its parts. None: search() would measure nothing.
  // The monitor is told nothing; a stop that is requested throws Error(cancelled).
  std::vector<SearchStep> lacking(size_t most);
  // Measures what is not known yet and tells options.record. Its keys are those of search().
  void measure(const SearchStep& step);

  struct Impl;  // Octet's own

 private:
  std::unique_ptr<Impl> impl_;
};

// The plan of a trial: what a build takes.
PrecisionPlan plan_of(const SearchTrial& trial, const PrecisionPlan& plan);
Engine build(const SourceModel& source, const SearchTrial& trial, const PrecisionPlan& plan,
             CompileReport* report = nullptr);

std::string to_json(const SearchResult& result);

}  // namespace octet
