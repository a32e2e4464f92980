// SPDX-License-Identifier: Apache-2.0
// What a search measures: engines of trials, run over one half of the samples or the other, unless a journal knows the result.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/search.h"
#include "pipeline/float_model.h"
#include "pipeline/resumed_runs.h"

namespace octet {

// The samples of one half by their numbers, and what the float model makes of them.
struct SearchHalf {
  const char* name;  // in the journal
  std::vector<size_t> which = {};
  std::optional<SampleOutputs> truth = {};
};

// What a search lacks, found by following it: a guess stands for each of these.
struct LackingSteps {
  size_t most = 0;
  std::vector<SearchStep> steps = {};

  // Throws Enough when it is full.
  struct Enough {};
  void add(SearchStep step);
};

class TrialRuns {
 public:
  TrialRuns(const SourceModel& source, const SearchOptions& options);

  // A search begins: it measures, or, with `lacking`, only tells what it would.
  void begin(LackingSteps* lacking = nullptr);
  // True where the search is one that does not measure, and is told of the step.
  bool only_tells(SearchStep step) const;
  bool only_tells() const { return lacking_ != nullptr; }
  size_t told_at_most() const { return lacking_ != nullptr ? lacking_->most : 0; }

  const FloatModel& model() const { return model_; }
  const SearchHalf& searched() const { return searched_; }
  const SearchHalf& verified() const { return verified_; }
  bool has_halves() const { return verified_.which != searched_.which; }

  // Fill in members of the trial that say what was measured.
  void measure(SearchTrial& trial);    // value, error
  void verify(SearchTrial& trial);     // verified
  void time_runs(SearchTrial& trial);  // run_us
  void weigh(SearchTrial& trial);      // bytes

  // Numbers of the search that are no trial's.
  std::optional<f64> known(const std::string& what) const;
  void keep(const std::string& what, f64 value);

  f64 passes() const { return passes_; }
  void add_passes(f64 passes) { passes_ += passes; }
  // Of one trial on the half that is searched on.
  f64 pass_of_trial() const;
  void report() const;

 private:
  std::string fingerprint() const;
  SampleOutputs run(const Engine& engine, std::span<const size_t> which) const;
  const SampleOutputs& truth_of(SearchHalf& half);
  // Until the next trial's.
  const Engine& engine_of(const SearchTrial& trial);
  f64 value_of(SearchHalf& half, const SampleOutputs& got);
  // Of a trial, by what the journal calls it. Calls work() where that does not know it; NaN where it is only told.
  f64 recalled(const SearchStep& step, const std::string& what, const std::function<f64()>& work);

  const SourceModel& source_;
  const SearchOptions& options_;
  FloatModel model_;
  SearchHalf searched_{"searched"}, verified_{"verified"};
  std::string fingerprint_;
  f64 passes_ = 0;
  LackingSteps* lacking_ = nullptr;
  // A trial is measured, weighed, verified and timed one after the other.
  struct Built {
    std::string name;
    Engine engine;
  };
  std::optional<Built> built_;
};

}  // namespace octet
