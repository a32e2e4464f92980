// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/search_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <system_error>

#include "cli/fail.h"
#include "cli/flags/number_range.h"
#include "cli/flags/share_flag.h"
#include "cli/flags/trial_flags.h"
#include "cli/interrupt.h"
#include "cli/output/journal.h"
#include "cli/output/terminal.h"
#include "cli/samples/output_errors.h"
#include "cli/samples/reference_level.h"

namespace octet::cli {
namespace {

// Of one set: so many of its samples calibrate for each that is held out.
constexpr size_t kHeldOut = 3;

// What the search and the calibration run on.
struct Shares {
  std::vector<LoadedSample> held_out;
  std::shared_ptr<std::vector<std::vector<Tensor>>> calibration;  // null: the data as they are told
  std::string words;
};

std::vector<LoadedSample> load(const SearchFlags& flags, const DataFlags& from,
                               const Engine& engine, ProgressBar& progress) {
  DataOptions data = data_options(from, engine.preprocess());
  data.labels = flags.metric.labels;
  if (!data.states.empty()) {
    fail(Error::Code::unsupported,
         "a search judges samples one by one, and --state makes them steps of sequences");
  }
  Samples samples(engine, data, &progress);
  std::vector<LoadedSample> all;
  while (auto sample = samples.next()) all.push_back(*std::move(sample));
  for (const std::string& name : samples.skipped()) print_warning("skipped " + name);
  if (all.size() < 2) {
    fail(Error::Code::invalid_argument,
         "{}: a search needs two samples at least, one to search on and one to verify with",
         from.data.string());
  }
  return all;
}

bool is_one_set(const SearchFlags& flags, const CalibrationFlags& calibration) {
  std::error_code none;
  return flags.data.empty() ||
         (!calibration.data.data.empty() &&
          std::filesystem::equivalent(flags.data, calibration.data.data, none));
}

// So many of them at most, evenly spread; 0: all.
void thin_out(std::vector<LoadedSample>& samples, int64_t most) {
  const auto count = static_cast<size_t>(most);
  if (most == 0 || samples.size() <= count) return;
  std::vector<LoadedSample> left;
  for (size_t i = 0; i < count; ++i) left.push_back(std::move(samples[i * samples.size() / count]));
  samples = std::move(left);
}

// Every third of one set is held out; with two sets each serves its own purpose.
Shares share_out(const SearchFlags& flags, const SearchCall& call, const Engine& engine) {
  const CalibrationFlags& calibration = call.calibration;
  DataFlags from = calibration.data;
  Shares shares;
  if (!is_one_set(flags, calibration)) {
    from.data = flags.data;
    from.max_samples = flags.samples;
    shares.held_out = load(flags, from, engine, call.progress);
    shares.words = "held out: " + flags.data.string();
    return shares;
  }
  if (!call.compile.calibration || call.compile.calibration->data.empty()) {
    fail(Error::Code::invalid_argument,
         "a search tries layers on samples: give --data, or --calib with data");
  }
  std::vector<LoadedSample> all = load(flags, from, engine, call.progress);
  if (all.size() < 2 * kHeldOut) {
    fail(Error::Code::invalid_argument,
         "{}: {} samples are too few to hold some out for the search; give others by --data",
         from.data.string(), all.size());
  }
  shares.calibration = std::make_shared<std::vector<std::vector<Tensor>>>();
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % kHeldOut == kHeldOut - 1) {
      shares.held_out.push_back(std::move(all[i]));
    } else {
      shares.calibration->push_back(std::move(all[i].inputs));
    }
  }
  const size_t others = shares.held_out.size();
  thin_out(shares.held_out, flags.samples);
  shares.words = fmt::format("one set: {} of the {} samples of {} calibrate, {} are held out",
                             shares.calibration->size(), all.size(), from.data.string(),
                             shares.held_out.size() == others
                                 ? std::string("the others")
                                 : fmt::format("{} of the others", shares.held_out.size()));
  return shares;
}

// Calibration on the samples that are not held out.
CompileOptions with_samples(CompileOptions compile, const Shares& shares, const Engine& engine) {
  if (shares.calibration == nullptr) return compile;
  CalibrationOptions& calibration = *compile.calibration;
  calibration.data.clear();
  calibration.preprocess = engine.preprocess();
  calibration.samples = [samples = shares.calibration, at = size_t{0}](auto& inputs) mutable {
    if (at == samples->size()) return false;
    inputs = (*samples)[at++];
    return true;
  };
  return compile;
}

SearchGoal goal_of(const SearchFlags& flags) {
  SearchGoal goal;
  const MetricUnit unit = unit_of(flags.metric);
  if (flags.max_drop) goal.most_drop = *flags.max_drop / unit.points;
  goal.least_value = flags.min_metric;
  if (flags.max_latency) goal.most_us = *flags.max_latency * 1e3;
  if (flags.max_size) goal.most_bytes = static_cast<int64_t>(*flags.max_size * 1e6);
  return goal;
}

// What data do not tell of calibration.
std::string key_of(const CalibrationFlags& flags, const CalibrationOptions& options) {
  std::string key = flags.equalize;
  for (const std::string& method : flags.methods) key += " " + method;
  for (const GivenRange& range : options.ranges)
    key += fmt::format(" {}={},{}", range.pattern, range.min, range.max);
  return key;
}

bool ranges_are_told(const CalibrationFlags& flags) {
  return !flags.methods.empty() || !flags.ranges.empty();
}

SearchOptions options_of(const SearchFlags& flags, const SearchCall& call, const Shares& shares,
                         Journal& journal) {
  SearchOptions options;
  options.plan = call.compile.plan;
  for (const LoadedSample& sample : shares.held_out) options.samples.push_back(sample.inputs);
  options.goal = goal_of(flags);
  options.effort = flags.effort;
  options.ranges = !ranges_are_told(call.calibration);
  options.threads = call.compile.threads;
  options.monitor = call.compile.monitor;
  options.key = key_of(call.calibration, *call.compile.calibration);
  options.recall = [&journal](const std::string& key) { return journal.recall(key); };
  options.record = [&journal](const std::string& key, double value) { journal.record(key, value); };
  return options;
}

std::string goal_words(const SearchFlags& flags) {
  const bool fastest = flags.max_drop || flags.min_metric;
  return fmt::format("{} by {}", fastest ? "fastest" : "most accurate", flags.metric.metric);
}

std::string method_of(const SearchTrial& trial) {
  if (!trial.int8) return "none: FP32";
  return trial.method ? to_string(*trial.method) : "as told";
}

std::string layers_of(const SearchTrial& trial) {
  if (!trial.int8) return "all";
  std::string text = std::to_string(trial.real.size());
  if (!trial.codes.empty()) text += fmt::format(", {} more in it", trial.codes.size());
  return text;
}

double milliseconds_of(const SearchTrial& trial) {
  return (std::isnan(trial.run_us) ? trial.us : trial.run_us) / 1e3;
}

std::vector<size_t> front_of(const SearchResult& result) {
  std::vector<size_t> front;
  for (size_t i = 0; i < result.trials.size(); ++i) {
    if (result.trials[i].on_front || i == result.chosen) front.push_back(i);
  }
  std::ranges::stable_sort(
      front, [&](size_t a, size_t b) { return result.trials[a].us < result.trials[b].us; });
  return front;
}

void print_real_layers(const MetricUnit& unit, const SearchResult& result) {
  if (result.real.empty() || !result.trials[result.chosen].int8) return;
  Table table({{"  NOT IN INT8", false, 60},
               {"OP"},
               {"WOULD COST", true},
               {"ALONE", true},
               {"WOULD SAVE", true}});
  for (const RealLayer& layer : result.real) {
    const std::string cost = std::isnan(layer.cost) ? "not tried"
                             : unit.is_share ? fmt::format("{:+.2f} points", -100 * layer.cost)
                                             : fmt::format("{:+.4g}", -layer.cost);
    table.add({"  " + layer.layer, layer.op, cost,
               layer.alone > 0 ? decibels(-10 * std::log10(layer.alone)) : "exact",
               fmt::format("{:.0f} us", layer.saved_us)});
  }
  table.print();
}

}  // namespace

void check_search_flags(const CLI::App& app, const SearchFlags& flags, bool int8) {
  if (!flags.asked()) {
    for (const char* flag :
         {"--metric", "--data", "--effort", "--journal", "--search-samples", "--metric-timeout",
          "--peak", "--labels", "--label-offset", "--scores"}) {
      if (app.count(flag) > 0) {
        fail(Error::Code::invalid_argument,
             "{} is of the search: give a goal, --max-drop, --min-metric, --max-latency or "
             "--max-size",
             flag);
      }
    }
    return;
  }
  if (flags.samples > 0 && flags.data.empty()) {
    fail(Error::Code::invalid_argument,
         "--search-samples says how many of --data serve the search; add --data");
  }
  if (flags.samples == 1) {
    fail(Error::Code::invalid_argument,
         "--search-samples 1: a search needs two samples at least, one to search on and one to "
         "verify with");
  }
  if (!int8) fail(Error::Code::invalid_argument, "a search decides what is INT8; add --int8");
  const MetricUnit unit = unit_of(flags.metric);
  if (flags.max_drop && unit.is_decibels) {
    fail(Error::Code::invalid_argument,
         "--max-drop counts from FP32's value, and {} of FP32 beside itself is infinite; say the "
         "least that is good enough by --min-metric DB",
         flags.metric.metric);
  }
  if (flags.min_metric && unit.is_share && *flags.min_metric > 1) {
    fail(Error::Code::invalid_argument, "--min-metric {}: {} is a share, from 0 to 1",
         *flags.min_metric, flags.metric.metric);
  }
}

Found search_and_build(const SearchFlags& flags, const SearchCall& call, CompileReport& report) {
  if (!call.compile.calibration) {
    fail(Error::Code::invalid_argument,
         "a search needs calibration: --calib, --calib-cache or --ranges");
  }
  PrecisionPlan real;
  const Engine plain = SourceModel::read(call.model, call.compile).build(real);
  Shares shares = share_out(flags, call, plain);
  // From here on there is something to save. Whoever loads data looks at no interrupt.
  const InterruptWatch watch;
  std::optional<ReferenceLevel> level;
  if (call.reproducible) level.emplace();
  // Stages of each trial's build are none that anybody waits for.
  const auto searching = std::make_shared<bool>(false);
  CompileOptions compile = with_samples(call.compile, shares, plain);
  compile.monitor.report = [searching, told = call.compile.monitor](const Progress& now) {
    return *searching ? !InterruptWatch::came() : told.report(now);
  };
  const SourceModel source = SourceModel::read(call.model, compile);
  // What is calibrated here serves all that follow.
  source.build(call.compile.plan);
  level.reset();
  *searching = true;
  Journal journal(*flags.journal);
  SearchOptions options = options_of(flags, call, shares, journal);
  options.metric = search_metric(flags.metric, plain, shares.held_out);
  SearchResult result = search(source, options);
  *searching = false;
  InterruptWatch::forget();
  const SearchTrial& chosen = result.trials[result.chosen];
  Engine engine = build(source, chosen, options.plan, &report);
  shares.words += fmt::format("; {} searched on, {} verified with", result.searched_samples,
                              result.verified_samples);
  std::string same = flags_of(chosen, options.plan);
  return {source, std::move(engine), std::move(result), std::move(shares.words), std::move(same)};
}

std::vector<Threshold> judge_search(const SearchFlags& flags, const SearchResult& result) {
  const MetricUnit unit = unit_of(flags.metric);
  const SearchTrial &chosen = result.trials[result.chosen], &real = result.trials[0];
  const bool seen = std::isnan(chosen.verified) || std::isnan(real.verified);
  const double value = seen ? chosen.value : chosen.verified;
  const double drop = ((seen ? real.value : real.verified) - value) * unit.points;
  std::vector<Threshold> all;
  if (flags.max_drop)
    all.push_back(at_most("max_drop", "loss of " + flags.metric.metric, drop, *flags.max_drop));
  if (flags.min_metric)
    all.push_back(at_least("min_metric", flags.metric.metric, value, *flags.min_metric));
  if (flags.max_latency)
    all.push_back(at_most("max_latency", "milliseconds of a run", milliseconds_of(chosen),
                          *flags.max_latency));
  if (flags.max_size)
    all.push_back(at_most("max_size", "MB of the engine", static_cast<double>(chosen.bytes) / 1e6,
                          *flags.max_size));
  return all;
}

void print_search(const SearchFlags& flags, const Found& found) {
  const SearchResult& result = found.result;
  const MetricUnit unit = unit_of(flags.metric);
  fmt::print("  search       {}; {} trials, {:.1f} runs over all samples{}\n", goal_words(flags),
             result.trials.size(), result.passes,
             result.stopped ? ", stopped: the best so far" : "");
  fmt::print("  samples      {}\n", sanitize(found.samples));
  Table table({{"  FRONT", false, 40},
               {"NOT INT8", true},
               {"SEARCHED", true},
               {"VERIFIED", true},
               {"MS", true},
               {""}});
  for (size_t i : front_of(result)) {
    const SearchTrial& trial = result.trials[i];
    table.add({"  " + method_of(trial), layers_of(trial), text_of(unit, trial.value),
               text_of(unit, trial.verified), fmt::format("{:.3f}", milliseconds_of(trial)),
               i == result.chosen ? "chosen" : ""});
  }
  table.print();
  print_real_layers(unit, result);
  fmt::print("  the same by  {}\n", sanitize(found.flags));
}

nlohmann::ordered_json search_json(const SearchFlags& flags, const Found& found) {
  nlohmann::ordered_json object = {{"metric", flags.metric.metric},
                                   {"effort", flags.effort},
                                   {"samples", found.samples},
                                   {"flags", found.flags}};
  object.update(parsed(to_json(found.result)));
  return object;
}

std::vector<std::pair<std::string, std::string>> front_lines(const SearchFlags& flags,
                                                             const SearchResult& result) {
  const MetricUnit unit = unit_of(flags.metric);
  std::vector<std::pair<std::string, std::string>> lines;
  for (size_t i : front_of(result)) {
    const SearchTrial& trial = result.trials[i];
    lines.emplace_back(
        fmt::format("front{}", i == result.chosen ? ", chosen" : ""),
        fmt::format("{}, layers not in INT8: {}; {} {}, verified {}; {:.3f} ms", method_of(trial),
                    layers_of(trial), flags.metric.metric, text_of(unit, trial.value),
                    text_of(unit, trial.verified), milliseconds_of(trial)));
  }
  return lines;
}

namespace {

constexpr const char* kSearchGroup = "Search";

void add_goal_flags(CLI::App& app, SearchFlags& flags) {
  app.add_option("--max-drop", flags.max_drop,
                 "find the fastest assignment of precisions and ranges that loses at most so much "
                 "of --metric: points of "
                 "a share, else the metric's own unit")
      ->type_name("X")
      ->check(from_to(0.0, 1e9))
      ->group(kSearchGroup);
  app.add_option("--min-metric", flags.min_metric,
                 "the fastest with at least this value of --metric")
      ->type_name("X")
      ->check(any_number())
      ->group(kSearchGroup);
  app.add_option("--max-latency", flags.max_latency,
                 "at most so long a run on this machine; without a limit of the metric, the most "
                 "accurate within it")
      ->type_name("MS")
      ->check(from_to(1e-6, 1e9))
      ->group(kSearchGroup);
  app.add_option("--max-size", flags.max_size, "at most so large an engine file; likewise")
      ->type_name("MB")
      ->check(from_to(1e-6, 1e9))
      ->group(kSearchGroup);
}

}  // namespace

void add_search_flags(CLI::App& app, Outputs& outputs, SearchFlags& flags) {
  add_goal_flags(app, flags);
  add_metric_flags(app, flags.metric);
  app.add_option("--data", flags.data,
                 "samples that the search is judged on [every third of --calib, which then does "
                 "not calibrate]")
      ->type_name("DIR|FILE")
      ->group(kSearchGroup);
  app.add_option("--search-samples", flags.samples,
                 "use at most N of --data, evenly spread [0: all]")
      ->type_name("N")
      ->check(from(int64_t{0}))
      ->group(kSearchGroup);
  app.add_option("--effort", flags.effort,
                 "work of the search: at most 5, 15 or 60 runs over all samples")
      ->type_name("1|2|3")
      ->check(from_to(1, 3))
      ->capture_default_str()
      ->group(kSearchGroup);
  flags.journal = &outputs.add_flag(
      app, {"--journal", "FILE", OutputKind::journal,
            "keep every measurement of the search in this file, and take from it what it holds"});
  app.get_option("--journal")->group(kSearchGroup);
}

}  // namespace octet::cli
