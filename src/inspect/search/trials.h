// SPDX-License-Identifier: Apache-2.0
// What a search measures: engines of trials, run over one half of the samples or the other, unless a journal knows the result.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

class TrialRuns {
 public:
  TrialRuns(const SourceModel& source, const SearchOptions& options);

  const FloatModel& model() const { return model_; }
  const SearchHalf& searched() const { return searched_; }
  const SearchHalf& verified() const { return verified_; }
  bool has_halves() const { return verified_.which != searched_.which; }

  // Fill in members of the trial that say what was measured.
  void measure(SearchTrial& trial);    // value, error
  void verify(SearchTrial& trial);     // verified
  void time_runs(SearchTrial& trial);  // run_us
  void weigh(SearchTrial& trial);      // bytes

  // A number of the search that is no trial's. Calls work() where the journal does not know it.
  f64 recalled(const std::string& what, const std::function<f64()>& work);
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
  f64 value_of(SearchHalf& half, const SampleOutputs& got);

  const SourceModel& source_;
  const SearchOptions& options_;
  FloatModel model_;
  SearchHalf searched_{"searched"}, verified_{"verified"};
  std::string fingerprint_;
  f64 passes_ = 0;
};

}  // namespace octet
