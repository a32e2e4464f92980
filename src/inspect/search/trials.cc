// SPDX-License-Identifier: Apache-2.0
#include "inspect/search/trials.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <utility>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/monitor.h"
#include "core/side_by_side.h"
#include "octet/data.h"
#include "octet/machine.h"
#include "octet/provenance.h"
#include "pipeline/output_power.h"
#include "pipeline/source_inside.h"

namespace octet {
namespace {

// Every second sample to search on, the others to verify with: a single one serves for both.
void share_out(size_t samples, SearchHalf& searched, SearchHalf& verified) {
  for (size_t s = 0; s < samples; ++s) (s % 2 == 0 ? searched : verified).which.push_back(s);
  if (verified.which.empty()) verified.which = searched.which;
}

class TextHash {
 public:
  void add(const std::string& text) {
    hash_.add(std::as_bytes(std::span(text)));
    hash_.add(static_cast<s64>(text.size()));
  }
  void add(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) add(text);
    hash_.add(static_cast<s64>(texts.size()));
  }
  void add(const Tensor& tensor) { hash_.add({tensor.data(), tensor.bytes()}); }
  std::string hex() const { return hash_.digest().hex(); }

 private:
  ContentHash hash_;
};

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

// By what the engine depends on.
std::string name_of(const SearchTrial& trial) {
  if (!trial.int8) return "float";
  TextHash hash;
  hash.add(sorted(trial.real));
  hash.add(sorted(trial.codes));
  return fmt::format("{} {}", trial.method ? to_string(*trial.method) : "told", hash.hex());
}

PrecisionPlan plain_float() {
  PrecisionPlan plan;
  plan.int8 = false;
  return plan;
}

}  // namespace

void LackingSteps::add(SearchStep step) {
  const auto same = [&](const SearchStep& other) {
    return other.kind == step.kind && other.part == step.part &&
           name_of(other.trial) == name_of(step.trial);
  };
  if (std::ranges::none_of(steps, same)) steps.push_back(std::move(step));
  if (steps.size() >= most) throw Enough();
}

TrialRuns::TrialRuns(const SourceModel& source, const SearchOptions& options)
    : source_(source), options_(options) {
  if (options.samples.empty())
    fail(Error::Code::invalid_argument, "a search tries layers on samples, and none is given");
  PrecisionPlan plan = options.plan;
  plan.int8 = true;
  CompileReport report;
  model_ = SourceInside::calibrated(source, plan, report);
  share_out(options.samples.size(), searched_, verified_);
  fingerprint_ = fingerprint();
}

void TrialRuns::begin(LackingSteps* lacking) {
  passes_ = 0;
  lacking_ = lacking;
}

bool TrialRuns::only_tells(SearchStep step) const {
  if (lacking_ != nullptr) lacking_->add(std::move(step));
  return lacking_ != nullptr;
}

// Whatever a value depends on, the machine apart.
std::string TrialRuns::fingerprint() const {
  TextHash hash;
  hash.add(std::string(octet_version()));
  hash.add(model_.hash);
  if (model_.calibration != nullptr) {
    hash.add(model_.calibration->data_hash);
    hash.add(model_.calibration->cache_hash);
  }
  const PrecisionPlan& plan = options_.plan;
  hash.add(options_.key);
  hash.add(options_.metric.name);
  hash.add(options_.metric.key);
  hash.add(plan.keep_float);
  hash.add(plan.rewrites.disabled_passes);
  for (const PrecisionConstraint& constraint : plan.constraints)
    hash.add(to_string(constraint) + (constraint.output ? " output" : ""));
  hash.add(fmt::format("{} {} {} {} {} {} {} {}", plan.f16, plan.bf16, plan.fastest, plan.target,
                       plan.fix_subnormals, to_string(plan.constraint_mode),
                       plan.rewrites.stop_after_rewrites, plan.accuracy_time.value_or(-1)));
  for (const std::vector<Tensor>& sample : options_.samples) {
    for (const Tensor& input : sample) hash.add(input);
  }
  return hash.hex();
}

std::optional<f64> TrialRuns::known(const std::string& what) const {
  if (!options_.recall) return std::nullopt;
  return options_.recall(fingerprint_ + " " + what);
}

void TrialRuns::keep(const std::string& what, f64 value) {
  if (options_.record) options_.record(fingerprint_ + " " + what, value);
}

f64 TrialRuns::recalled(const SearchStep& step, const std::string& what,
                        const std::function<f64()>& work) {
  if (const auto value = known(what)) return *value;
  if (only_tells(step)) return SearchTrial::kUnknown;
  const f64 value = work();
  keep(what, value);
  return value;
}

void TrialRuns::report() const {
  if (only_tells()) {
    check_stop(options_.monitor);
    return;
  }
  // In tenths of a pass.
  report_progress(options_.monitor, "search", static_cast<s64>(10 * passes_),
                  static_cast<s64>(10 * search_passes(options_.effort)));
}

f64 TrialRuns::pass_of_trial() const {
  return static_cast<f64>(searched_.which.size()) / static_cast<f64>(options_.samples.size());
}

// Side by side, each run on one thread: an output depends on neither.
SampleOutputs TrialRuns::run(const Engine& engine, std::span<const size_t> which) const {
  const std::vector<TensorInfo> inputs = engine.inputs();
  const s64 rows = samples_of_run(inputs, options_.samples[which[0]]);
  const auto per_run = static_cast<size_t>(rows);
  const size_t runs = (which.size() + per_run - 1) / per_run;
  SampleOutputs results(which.size());
  std::vector<Context> idle;
  std::mutex mutex;
  const auto work = [&](size_t r) {
    check_stop(options_.monitor);
    std::unique_lock lock(mutex);
    if (idle.empty()) idle.push_back(engine.make_context());
    Context context = std::move(idle.back());
    idle.pop_back();
    lock.unlock();
    std::vector<std::vector<Tensor>> samples;
    for (size_t i = r * per_run; i < std::min(which.size(), (r + 1) * per_run); ++i)
      samples.push_back(options_.samples[which[i]]);
    auto outputs =
        split_outputs(context.run(stack_samples(samples, rows)), rows, std::ssize(samples));
    std::ranges::move(outputs, results.begin() + static_cast<ptrdiff_t>(r * per_run));
    lock.lock();
    idle.push_back(std::move(context));
  };
  // The monitor is told from this thread alone.
  const size_t at_once = 4 * static_cast<size_t>(std::max(1, options_.threads));
  for (size_t begin = 0; begin < runs; begin += at_once) {
    report();
    side_by_side(std::min(at_once, runs - begin), options_.threads,
                 [&](size_t i) { work(begin + i); });
  }
  return results;
}

const SampleOutputs& TrialRuns::truth_of(SearchHalf& half) {
  if (!half.truth) half.truth = run(source_.build(plain_float()), half.which);
  return *half.truth;
}

const Engine& TrialRuns::engine_of(const SearchTrial& trial) {
  std::string name = name_of(trial);
  if (!built_ || built_->name != name) {
    built_.reset();  // two of them are too much for some machines
    built_.emplace(Built{std::move(name), build(source_, trial, options_.plan)});
  }
  return built_->engine;
}

f64 TrialRuns::value_of(SearchHalf& half, const SampleOutputs& got) {
  const f64 value = options_.metric.value(half.which, truth_of(half), got);
  if (!std::isfinite(value))
    fail(Error::Code::invalid_argument, "the metric '{}' is no finite number",
         options_.metric.name);
  return value;
}

void TrialRuns::measure(SearchTrial& trial) {
  passes_ += pass_of_trial();
  report();
  const std::string name = name_of(trial) + " searched ";
  const auto value = known(name + "value"), error = known(name + "error");
  if (value && error) {
    trial.value = *value;
    trial.error = *error;
    return;
  }
  if (only_tells({SearchStep::Kind::value, trial})) {
    // It keeps nothing, and is better than nothing.
    trial.value = trial.error = SearchTrial::kUnknown;
    return;
  }
  const SampleOutputs got = run(engine_of(trial), searched_.which);
  trial.error = relative_error(truth_of(searched_), got);
  trial.value = value_of(searched_, got);
  keep(name + "error", trial.error);
  keep(name + "value", trial.value);
}

void TrialRuns::verify(SearchTrial& trial) {
  if (!has_halves()) {
    trial.verified = trial.value;
    return;
  }
  passes_ += 1 - pass_of_trial();
  report();
  const SearchStep step{SearchStep::Kind::verified, trial};
  trial.verified = recalled(step, name_of(trial) + " verified value", [&] {
    return value_of(verified_, run(engine_of(trial), verified_.which));
  });
}

void TrialRuns::weigh(SearchTrial& trial) {
  const f64 bytes = recalled({SearchStep::Kind::bytes, trial}, name_of(trial) + " bytes",
                             [&] { return static_cast<f64>(engine_of(trial).to_bytes().size()); });
  trial.bytes = std::isnan(bytes) ? 0 : static_cast<s64>(bytes);
}

void TrialRuns::time_runs(SearchTrial& trial) {
  trial.run_us = recalled({SearchStep::Kind::run_us, trial}, name_of(trial) + " run_us", [&] {
    const Engine& engine = engine_of(trial);
    Context context = engine.make_context({.threads = options_.threads});
    const std::vector<Tensor>& first = options_.samples[0];
    const std::vector<std::vector<Tensor>> samples = {first};
    const std::vector<Tensor> inputs =
        stack_samples(samples, samples_of_run(engine.inputs(), first));
    context.run(inputs);
    constexpr size_t kRuns = 15;
    std::vector<f64> times;
    for (size_t i = 0; i < kRuns; ++i) {
      report();
      const auto begin = std::chrono::steady_clock::now();
      context.run(inputs);
      const std::chrono::duration<f64, std::micro> took = std::chrono::steady_clock::now() - begin;
      times.push_back(took.count());
    }
    std::ranges::nth_element(times, times.begin() + kRuns / 2);
    return times[kRuns / 2];
  });
}

}  // namespace octet
