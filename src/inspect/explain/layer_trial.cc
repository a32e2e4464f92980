// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/layer_trial.h"

#include <algorithm>
#include <limits>

#include "plan/select.h"

namespace octet {
namespace {

// Rounds in which every kernel runs once. What is several times slower than another, after a few, is not run again.
constexpr int kRounds = 12;
constexpr int kRoundsOfAll = 3;
constexpr f64 kHopeless = 3;

}  // namespace

LayerTrial::LayerTrial(const KernelTrial::Setting& setting, const StepArgs& args)
    : kernels_(likely_kernels(setting.step.kernels, *setting.target.device)) {
  for (const Candidate& candidate : kernels_) trials_.emplace_back(setting, candidate, args);
}

LayerSelection LayerTrial::compare() {
  LayerSelection selection;
  for (size_t i = 0; i < trials_.size(); ++i) {
    KernelTime time;
    time.kernel = kernels_[i].kernel;
    time.cost = kernels_[i].cost;
    time.microseconds = std::numeric_limits<f64>::infinity();
    time.same_result = result_is_same(i);
    selection.kernels.push_back(std::move(time));
  }
  run_rounds(selection, kRounds);
  return selection;
}

void LayerTrial::run_rounds(LayerSelection& selection, int rounds) {
  for (int round = 0; round < rounds; ++round) run_round(selection, round < kRoundsOfAll);
}

void LayerTrial::run_round(LayerSelection& selection, bool all) {
  const f64 limit = kHopeless * selection.kernels[selection.fastest()].microseconds;
  for (size_t i = 0; i < trials_.size(); ++i) {
    f64& best = selection.kernels[i].microseconds;
    if (i == 0 || all || best <= limit) best = std::min(best, trials_[i].run());
  }
}

// Of two kernels that are both only close neither gives the bits of the other.
bool LayerTrial::result_is_same(size_t i) {
  trials_[i].run();
  if (kernels_[0].close && kernels_[i].close) return true;
  if (i == 0) expected_ = trials_[i].results();
  return i == 0 || trials_[i].gives(expected_);
}

}  // namespace octet
