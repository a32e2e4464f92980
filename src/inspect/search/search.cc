// SPDX-License-Identifier: Apache-2.0
// The search: ranges first, then layers out of INT8 by their rank until the goal is met, then back into it one by one; the best is verified.
#include "octet/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "core/check.h"
#include "core/memory.h"
#include "core/monitor.h"
#include "inspect/search/goal.h"
#include "inspect/search/rank.h"
#include "inspect/search/run.h"
#include "inspect/search/trials.h"
#include "pipeline/source_inside.h"

namespace octet {
namespace {

// What is worth trying beside the method that was asked for (docs/accuracy.md has what each does).
constexpr RangeMethod kMethods[] = {
    {RangeRule::mse}, {RangeRule::percentile, 99.99}, {RangeRule::minmax}, {RangeRule::entropy}};

// At least so much of a run's time must INT8 save for a layer to be tried in it again.
constexpr f64 kWorthwhile = 0.002;

// Each verification is of one half; so many are kept back for it.
constexpr f64 kVerifications = 2;

class Search {
 public:
  Search(const SourceModel& source, const SearchOptions& options, TrialRuns& runs)
      : options_(options), runs_(runs), source_(source) {}

  SearchResult run() {
    try {
      start();
      choose_ranges();
      if (!ranked_) return {};
      best_at_start_ = best_;
      do {
        if (!met(result_.trials[best_])) leave_int8();
        return_to_int8();
      } while (!settle() && affordable());
    } catch (const Error& error) {
      // What only tells what it lacks has no best so far.
      if (error.code() != Error::Code::cancelled || !any_measured() || runs_.only_tells()) throw;
      result_.stopped = true;
      choose_best_so_far();
    }
    finish();
    return std::move(result_);
  }

 private:
  Judge judge() const { return {options_.goal, result_.trials[0].value}; }
  bool any_measured() const { return !result_.trials.empty() && ranked_; }
  bool keeps(const SearchTrial& trial) const {
    return judge().keeps(trial.value - (trial.int8 ? margin_ : 0));
  }
  bool met(const SearchTrial& trial) const { return keeps(trial) && fits(options_.goal, trial); }
  bool affordable(f64 trials = 1) const {
    return runs_.passes() + (trials + kVerifications) * runs_.pass_of_trial() <=
           search_passes(options_.effort);
  }

  // The float model and the build's own INT8, and the rank of the layers, which also says what both take. What only tells what it lacks may lack that.
  void start() {
    result_.trials.push_back({.int8 = false});
    try_one(result_.trials[0]);
    result_.trials.emplace_back();
    try_one(result_.trials[1]);
    auto rank = rank_layers(source_, options_, runs_);
    if (!rank) return;
    rank_ = std::move(*rank);
    result_.trials[0].us = rank_.fp32_us;
    result_.trials[1].us = rank_.int8_us;
    weigh(result_.trials[0]);
    weigh(result_.trials[1]);
    // Only now something can be chosen: what has no size yet would fit any.
    ranked_ = true;
    best_ = 1;
  }

  void try_one(SearchTrial& trial) {
    runs_.measure(trial);
    if (ranked_) trial.us = rank_.time_of(trial);
    if (ranked_) weigh(trial);
  }
  void weigh(SearchTrial& trial) {
    if (options_.goal.most_bytes) runs_.weigh(trial);
  }

  // The number of the trial, which is made where there is none like it yet.
  size_t tried(SearchTrial trial) {
    for (size_t i = 1; i < result_.trials.size(); ++i) {
      if (same_layers(result_.trials[i], trial)) return i;
    }
    try_one(trial);
    result_.trials.push_back(std::move(trial));
    return result_.trials.size() - 1;
  }
  static bool same_layers(const SearchTrial& one, const SearchTrial& other) {
    const auto as_set = [](const std::vector<std::string>& names) {
      return std::set<std::string>(names.begin(), names.end());
    };
    return one.method == other.method && as_set(one.real) == as_set(other.real) &&
           as_set(one.codes) == as_set(other.codes);
  }
  void take_if_better(size_t trial) {
    if (is_better(options_.goal, result_.trials[trial], result_.trials[best_])) best_ = trial;
  }

  // All of INT8 takes the same time, whatever its ranges: what is most accurate goes on.
  void choose_ranges() {
    if (!options_.ranges || !has_statistics()) return;
    const size_t most = options_.effort == 1 ? 1 : std::size(kMethods);
    size_t done = 0;
    for (const RangeMethod& method : kMethods) {
      if (done == most || !affordable(2) || was_told(method)) continue;
      ++done;
      SearchTrial trial;
      trial.method = method;
      take_if_better(tried(std::move(trial)));
    }
  }
  // Ranges by hand and those of bodies follow no method.
  bool has_statistics() const {
    const FloatModel& model = runs_.model();
    return model.calibration != nullptr && !model.calibration->observations.empty() &&
           model.bodies.empty();
  }
  bool was_told(const RangeMethod& method) const {
    return std::ranges::all_of(*runs_.model().ranges,
                               [&](const auto& entry) { return entry.second.method == method; });
  }

  SearchTrial with_real(size_t count) const {
    SearchTrial trial;
    trial.method = result_.trials[best_at_start_].method;
    for (size_t i = 0; i < count; ++i) {
      for (const std::string& layer : rank_.order[i].layers) {
        if (std::ranges::find(trial.real, layer) == trial.real.end()) trial.real.push_back(layer);
      }
    }
    return trial;
  }

  // Layers leave INT8 in the order of their rank.
  void leave_int8() {
    if (wants_fastest(options_.goal)) {
      fewest_that_keep();
    } else {
      most_that_fit();
    }
  }

  // Twice as many at a time until the metric is kept, then halves of what is between.
  void fewest_that_keep() {
    const size_t all = rank_.order.size();
    size_t few = 0, enough = 0;
    for (size_t count = 1; count < 2 * all && enough == 0 && affordable(); count *= 2) {
      const size_t now = std::min(count, all);
      const size_t trial = tried(with_real(now));
      if (keeps(result_.trials[trial])) {
        enough = now;
        best_ = trial;
      } else {
        few = now;
      }
    }
    while (enough > few + 1 && affordable()) {
      const size_t middle = few + (enough - few) / 2;
      const size_t trial = tried(with_real(middle));
      const bool is_enough = keeps(result_.trials[trial]);
      (is_enough ? enough : few) = middle;
      if (is_enough) best_ = trial;
    }
  }

  // Those that the time or the size has room for; more of them need not be more accurate.
  void most_that_fit() {
    size_t least = 0, most = rank_.order.size() + 1;
    while (most > least + 1) {
      const size_t middle = least + (most - least) / 2;
      SearchTrial trial = with_real(middle);
      trial.us = rank_.time_of(trial);
      weigh(trial);
      (fits(options_.goal, trial) ? least : most) = middle;
    }
    for (size_t count = least; count > 0 && affordable(); count /= 2) {
      const size_t trial = tried(with_real(count));
      if (fits(options_.goal, result_.trials[trial])) take_if_better(trial);
    }
  }

  // One layer after another into INT8, those first that it saves most time. What that loses is what the layer is kept for.
  void return_to_int8() {
    if (!wants_fastest(options_.goal) || !met(result_.trials[best_])) return;
    for (const LayerEffect* layer : rank_.by_time()) {
      if (!affordable()) return;
      const SearchTrial& now = result_.trials[best_];
      const std::string& name = layer->layers[0];
      const bool left = std::ranges::find(now.real, name) != now.real.end();
      // A build that obeys its constraints fails where one is not met.
      const bool guarded = layer->precision != Precision::int8 &&
                           options_.plan.constraint_mode == ConstraintMode::prefer;
      if (!left && !guarded) continue;
      if (layer->saved_us < kWorthwhile * rank_.int8_us && options_.effort < 3) continue;
      SearchTrial trial = {.method = now.method, .real = now.real, .codes = now.codes};
      std::erase(trial.real, name);
      if (guarded) trial.codes.push_back(name);
      const size_t other = tried(std::move(trial));
      costs_.emplace_back(name, result_.trials[best_].value - result_.trials[other].value);
      if (met(result_.trials[other]) && layer->saved_us > 0) best_ = other;
    }
  }

  // Of all trials that meet the goal, the best first; NaN compares as not better.
  std::vector<size_t> candidates() const {
    std::vector<size_t> left(result_.trials.size());
    std::iota(left.begin(), left.end(), size_t{0});
    std::erase_if(left, [&](size_t i) { return !met(result_.trials[i]); });
    std::vector<size_t> ordered;
    while (!left.empty()) {
      auto best = left.begin();
      for (auto at = left.begin(); at != left.end(); ++at) {
        if (is_better(options_.goal, result_.trials[*at], result_.trials[*best])) best = at;
      }
      ordered.push_back(*best);
      left.erase(best);
    }
    return ordered;
  }

  void choose_best() {
    const std::vector<size_t> those = candidates();
    result_.chosen = those.empty() ? 0 : those[0];
    result_.met = !those.empty();
  }

  // Of a search that is stopped: what was verified by then and keeps too little is none.
  void choose_best_so_far() {
    const Judge unseen{options_.goal, result_.trials[0].verified};
    result_.chosen = 0;
    result_.met = result_.verified = false;
    for (size_t i : candidates()) {
      const f64 verified = result_.trials[i].verified;
      if (!std::isnan(verified) && !unseen.keeps(verified)) continue;
      result_.chosen = i;
      result_.met = true;
      result_.verified = !std::isnan(verified);
      return;
    }
  }

  // The best that keeps what was asked on samples, too, that it was not chosen by. False where the best of INT8 does not and one that keeps more,
  // by what is missing, may: that is to be looked for.
  bool settle() {
    runs_.verify(result_.trials[0]);
    const Judge unseen{options_.goal, result_.trials[0].verified};
    for (size_t i : candidates()) {
      SearchTrial& trial = result_.trials[i];
      if (std::isnan(trial.verified)) runs_.verify(trial);
      if (options_.goal.most_us && std::isnan(trial.run_us)) runs_.time_runs(trial);
      result_.chosen = i;
      result_.verified = result_.met = unseen.keeps(trial.verified) && fits(options_.goal, trial);
      if (result_.met) return i != 0 || !raise_margin();
    }
    choose_best();
    result_.met = false;
    return true;
  }

  // So that trials count as good enough only with what the best candidate lacked on the other half. False where there is none that lacked any, or
  // nothing is left to take out of INT8.
  bool raise_margin() {
    f64 margin = margin_;
    for (size_t i = 1; i < result_.trials.size(); ++i) {
      const SearchTrial& trial = result_.trials[i];
      if (!std::isnan(trial.verified) && met(trial)) margin = std::max(margin, worse_unseen(trial));
    }
    return std::exchange(margin_, margin) != margin;
  }

  // By how much the other half's value is the lesser, beside the float model's where a drop from it is what counts.
  f64 worse_unseen(const SearchTrial& trial) const {
    const SearchTrial& real = result_.trials[0];
    const f64 worse = trial.value - trial.verified;
    return options_.goal.most_drop ? worse - (real.value - real.verified) : worse;
  }

  void finish() {
    mark_front(result_.trials);
    result_.fp32_verified = result_.trials[0].verified;
    result_.searched_samples = std::ssize(runs_.searched().which);
    result_.verified_samples = std::ssize(runs_.verified().which);
    result_.passes = runs_.passes();
    for (const LayerEffect& layer : rank_.layers) {
      if (layer.layers.size() == 1 && is_real(layer)) result_.real.push_back(told(layer));
    }
  }
  bool is_real(const LayerEffect& layer) const {
    const SearchTrial& chosen = result_.trials[result_.chosen];
    const auto in = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, layer.layers[0]) != names.end();
    };
    if (!chosen.int8) return true;
    return in(chosen.real) || (layer.precision != Precision::int8 && !in(chosen.codes));
  }
  RealLayer told(const LayerEffect& layer) const {
    RealLayer real{.layer = layer.layers[0], .op = layer.op};
    real.alone = layer.alone;
    real.saved_us = layer.saved_us;
    for (const auto& [name, cost] : costs_) {
      if (name == real.layer) real.cost = cost;
    }
    return real;
  }

  const SearchOptions& options_;
  TrialRuns& runs_;
  const SourceModel& source_;
  Rank rank_;
  bool ranked_ = false;
  size_t best_ = 0, best_at_start_ = 1;
  f64 margin_ = 0;  // by which a value must keep more than what was asked
  std::vector<std::pair<std::string, f64>> costs_;  // the last of a layer counts
  SearchResult result_;
};

}  // namespace

void check_search(const SearchOptions& options) {
  const SearchGoal& goal = options.goal;
  if (!wants_fastest(goal) && !goal.most_us && !goal.most_bytes) {
    fail(Error::Code::invalid_argument,
         "a search needs a goal: a drop or a least value of the metric, a time, or a size");
  }
  if (options.plan.constraint_mode == ConstraintMode::none) {
    fail_about(
        "PrecisionPlan.constraints", Error::Code::invalid_argument,
        "a search asks for types of layers, which a build without constraints does not heed");
  }
  if (options.effort < 1 || options.effort > 3)
    fail(Error::Code::invalid_argument, "the effort of a search is {}; expected 1 to 3",
         options.effort);
}

SearchResult search_by(TrialRuns& runs, const SourceModel& source, const SearchOptions& options) {
  return Search(source, options, runs).run();
}

double search_passes(int effort) {
  constexpr std::array<f64, 3> kPasses = {5, 15, 60};
  return kPasses.at(static_cast<size_t>(effort - 1));
}

SearchResult search(const SourceModel& source, const SearchOptions& options) {
  check_search(options);
  return without_bad_alloc([&] {
    TrialRuns runs(source, options);
    return search_by(runs, source, options);
  });
}

PrecisionPlan plan_of(const SearchTrial& trial, const PrecisionPlan& plan) {
  PrecisionPlan result = plan;
  result.int8 = trial.int8;
  if (!trial.int8) {
    std::erase_if(result.constraints, [](const PrecisionConstraint& constraint) {
      return constraint.precision == Precision::int8;
    });
    return result;
  }
  // A layer that is kept in float is f32 even where others are f16.
  std::vector<std::string> real = trial.real, codes = trial.codes;
  std::ranges::sort(real);
  std::ranges::sort(codes);
  if (plan.f16 || plan.bf16) {
    const Precision half = plan.f16 ? Precision::f16 : Precision::bf16;
    for (const std::string& name : real) result.constraints.push_back({name, half, false});
  } else {
    result.keep_float.insert(result.keep_float.end(), real.begin(), real.end());
  }
  for (const std::string& name : codes)
    result.constraints.push_back({name, Precision::int8, false});
  return result;
}

Engine build(const SourceModel& source, const SearchTrial& trial, const PrecisionPlan& plan,
             CompileReport* report) {
  CompileReport local;
  return SourceInside::build(source, plan_of(trial, plan), trial.method ? &*trial.method : nullptr,
                             report != nullptr ? *report : local);
}

}  // namespace octet
