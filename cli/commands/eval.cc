// SPDX-License-Identifier: Apache-2.0
// octet eval: accuracy of an engine on labelled data, and how far it is from the float model on the same data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/command.h"
#include "cli/commands/eval_trials.h"
#include "cli/fail.h"
#include "cli/flags/choice.h"
#include "cli/flags/comparison_flags.h"
#include "cli/flags/data_flags.h"
#include "cli/flags/detection_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/flags/share_flag.h"
#include "cli/flags/thresholds.h"
#include "cli/output/outputs.h"
#include "cli/output/progress.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/eval_counts.h"
#include "cli/samples/nan_watch.h"
#include "cli/samples/output_errors.h"
#include "cli/samples/reference.h"
#include "cli/samples/sample_runs.h"
#include "cli/samples/samples.h"
#include "octet/compile.h"
#include "octet/spread.h"

namespace octet::cli::eval_cli {
namespace {

constexpr CommandHelp kHelp{
    "eval", "Measure accuracy, and agreement with the model",
    "Labels: with --labels folder the class is the sub-folder of an image, in alphabetical order "
    "from 0; with\n"
    "--labels prefix it is the number that the file name begins with. Without labels only "
    "agreement and SQNR\n"
    "are measured. Photos are prepared as the engine remembers, and flags override that; arrays "
    "are taken as they\n"
    "are unless flags prepare them. Data that calibration speaks against are warned of, and where "
    "labels are known\n"
    "other preparations are tried.\n"
    "Top-1 and agreement (the share of samples whose top-1 is the same in both) are of the first "
    "output where all\n"
    "outputs are scores of classes, or of --scores NAME; SQNR and cosine compare all outputs.\n\n"
    "Examples:\n"
    "  octet eval resnet20.octet --data test/ --against resnet20.onnx\n"
    "  octet eval mobilenet.octet --data val/ --labels prefix --label-offset 1\n"
    "  octet eval resnet20.octet --data test/ --against onnxruntime:resnet20.onnx --top-k 5\n"
    "  octet eval resnet20.octet --data test/ --device cuda:all    # samples shared by all GPUs\n"
    "  octet eval resnet20.octet --data test/ --against resnet20.onnx --max-drop 0.5 "
    "--min-agreement 0.97\n"};

struct Options : EngineFlags {
  ReferenceFlags reference;
  ComparisonFlags comparison;
  Outputs outputs;
  DataFlags data;
  LabelRule labels = LabelRule::folder;
  int64_t label_offset = 0;
  std::string scores;
  DetectionFlags detection;
  std::optional<double> min_top1;
  std::optional<double> min_agreement;
  std::optional<double> max_drop;
  std::optional<double> min_sqnr;
  std::string device = "cpu";
};

struct Measured {
  Counts counts;
  NanReport nan;
  std::vector<OutputComparison> comparisons;  // where a flag asks for them
  std::vector<std::string> skipped;
  std::vector<std::string> warnings;
  DataChecks checks = {};
  std::optional<Trial> trial = std::nullopt;
  std::optional<BoxCounts> boxes = std::nullopt;  // of detectors
};

// What runs the engine: a context on each device.
Spread spread_of(const Options& options, const Engine& engine) {
  return Spread(engine, {.devices = devices_named(options.device), .threads = options.threads});
}

void warn_of_left_out(const Spread& spread, Measured& result) {
  for (const auto& [device, why] : spread.left_out())
    result.warnings.push_back(fmt::format("{} was left out: {}", device, why));
}

// The engine alone.
void evaluate(const Options& options, const Engine& engine, Samples& samples, Measured& result,
              ProgressBar& progress) {
  Counts& counts = result.counts;
  NanWatch watch(engine, {.threads = options.threads});
  Spread spread = spread_of(options, engine);
  const Runner runners[] = {runner_of(spread)};
  const auto look = [&](const LoadedSample& sample, auto outputs) {
    watch.look_at(sample.name, sample.inputs, outputs[0]);
    counts.add(sample, outputs[0], nullptr);
    if (result.boxes) result.boxes->add(sample, outputs[0], nullptr);
    progress.update({"evaluate", counts.samples(), samples.size()});
  };
  run_samples(engine, samples, runners, look, spread.contexts());
  warn_of_left_out(spread, result);
  result.nan = watch.report();
}

// The engine beside what it is held against.
void evaluate_against(const Options& options, const Engine& engine, Samples& samples,
                      Measured& result, ProgressBar& progress) {
  Spread spread = spread_of(options, engine);
  Reference reference(options.reference, engine,
                      {options.threads, options.model_flags, samples.size(), &spread});
  OutputComparer comparer(tensor_names(engine.outputs()),
                          comparison_options(options.comparison, engine.outputs()));
  Counts& counts = result.counts;
  NanWatch watch(engine, {.threads = options.threads});
  reference.run(engine, samples,
                [&](const LoadedSample& sample, auto tested, const auto& expected) {
                  watch.look_at(sample.name, sample.inputs, tested);
                  if (options.comparison.any()) comparer.add(sample.name, expected, tested);
                  counts.add(sample, tested, &expected);
                  if (result.boxes) result.boxes->add(sample, tested, &expected);
                  progress.update({"evaluate", counts.samples(), samples.size()});
                });
  if (options.comparison.any()) result.comparisons = comparer.outputs();
  warn_of_left_out(spread, result);
  result.nan = watch.report();
}

Measured measure(const Options& options, const Engine& engine) {
  DataOptions data = data_options(options.data, engine.preprocess());
  data.labels = options.labels;
  Measured result{Counts(engine.outputs(), options.scores, options.label_offset), {}, {}, {}, {}};
  // What is wrong with a flag is said before data are read.
  if (!options.detection.detector.empty())
    result.boxes.emplace(BoxReader(options.detection, engine.outputs(), data.preprocess));
  comparison_options(options.comparison, engine.outputs());
  ProgressBar progress(options.json);
  Samples samples(engine, data, &progress);
  if (samples.size() == 0) {
    fail(Error::Code::invalid_argument, "{}: no sample could be read", options.data.data.string());
  }
  if (options.reference.given()) {
    evaluate_against(options, engine, samples, result, progress);
  } else {
    evaluate(options, engine, samples, result, progress);
  }
  result.skipped = samples.skipped();
  std::ranges::copy(samples.notes(), std::back_inserter(result.warnings));
  result.checks = samples.checks();
  const auto doubt = result.counts.doubt();
  if (result.counts.labelled() > 0) {
    result.trial =
        try_preparations(engine, {data, options.scores, options.label_offset, options.threads},
                         samples.other_preparations(doubt.has_value()));
  }
  if (doubt) result.warnings.push_back(*doubt);
  if (result.trial) result.warnings.push_back(result.trial->text());
  return result;
}

std::vector<Threshold> thresholds(const Options& options, const Measured& measured) {
  const Counts& counts = measured.counts;
  std::vector<Threshold> all;
  if (options.min_top1)
    all.push_back(at_least("min_top1", "top-1", counts.top1(), *options.min_top1));
  if (options.min_agreement)
    all.push_back(
        at_least("min_agreement", "agreement", counts.agreement(), *options.min_agreement));
  if (options.max_drop) {
    const double drop = 100 * (counts.reference_top1() - counts.top1());
    all.push_back(at_most("max_drop", "loss of top-1 in points", drop, *options.max_drop));
  }
  if (options.min_sqnr) {
    all.push_back(
        at_least("min_sqnr", "SQNR in dB", counts.errors().stats().sqnr_db(), *options.min_sqnr));
  }
  add_judgments(options.comparison, measured.comparisons, all);
  return all;
}

nlohmann::ordered_json number(double value) {
  return std::isnan(value) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

void print_outputs(const Counts& counts) {
  fmt::print("SQNR       {}\n", decibels(counts.errors().stats().sqnr_db()));
  if (counts.has_scores() && counts.outputs().size() == 1) return;
  for (size_t i = 0; i < counts.outputs().size(); ++i) {
    const ErrorStats& stats = counts.errors().outputs()[i];
    fmt::print("  {}: SQNR {}, cosine {:.6f}\n", sanitize(counts.outputs()[i].name),
               decibels(stats.sqnr_db()), stats.cosine());
  }
}

void print_top1(const Options& options, const Counts& counts) {
  if (!counts.has_scores()) {
    fmt::print("top-1      none: {}\n", sanitize(counts.without_scores()));
    return;
  }
  if (counts.labelled() == 0) {
    fmt::print("top-1      no labels: images do not lie in class folders (see --labels)\n");
    return;
  }
  fmt::print("top-1      {}   {} of {}\n", percent(counts.top1()), counts.right(),
             counts.labelled());
  if (!options.reference.given()) return;
  fmt::print("reference  {}   {} of {}, {:+.2f} points\n", percent(counts.reference_top1()),
             counts.reference_right(), counts.labelled(),
             100 * (counts.top1() - counts.reference_top1()));
}

void print_counts(const Options& options, const Measured& measured) {
  const Counts& counts = measured.counts;
  fmt::print("samples    {}{}\n", counts.samples(),
             measured.skipped.empty() ? "" : fmt::format(" ({} skipped)", measured.skipped.size()));
  print_top1(options, counts);
  if (measured.boxes) measured.boxes->print();
  if (!options.reference.given()) return;
  if (counts.has_scores()) {
    fmt::print("agreement  {}   {} of {}\n", percent(counts.agreement()), counts.agree(),
               counts.samples());
  }
  print_outputs(counts);
  print_comparison(options.comparison, measured.comparisons);
}

nlohmann::ordered_json outputs_json(const Measured& measured) {
  const Counts& counts = measured.counts;
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < counts.outputs().size(); ++i) {
    const ErrorStats& stats = counts.errors().outputs()[i];
    outputs.push_back({{"name", counts.outputs()[i].name},
                       {"sqnr_db", sqnr_json(stats.sqnr_db())},
                       {"max_abs", stats.max_abs()},
                       {"cosine", stats.cosine()}});
    if (!measured.comparisons.empty()) add_comparison(measured.comparisons[i], outputs.back());
  }
  return outputs;
}

void print_counts_json(const Options& options, const Measured& measured,
                       const std::vector<Threshold>& judged) {
  const Counts& counts = measured.counts;
  nlohmann::ordered_json object = {{"samples", counts.samples()},
                                   {"top1", number(counts.top1())},
                                   {"reference_top1", number(counts.reference_top1())},
                                   {"agreement", number(counts.agreement())},
                                   {"labelled", counts.labelled()},
                                   {"class_scores", counts.has_scores()},
                                   {"not_finite", measured.nan.json},
                                   {"skipped", measured.skipped},
                                   {"warnings", measured.warnings}};
  add_checks(measured.checks, object);
  object["trial"] = trial_json(measured.trial);
  if (options.reference.given()) {
    object["sqnr_db"] = sqnr_json(counts.errors().stats().sqnr_db());
    object["max_abs"] = counts.errors().stats().max_abs();
    object["cosine"] = counts.errors().stats().cosine();
    object["outputs"] = outputs_json(measured);
  }
  if (measured.boxes) object["detection"] = measured.boxes->json();
  add_thresholds(object, judged);
  print_json(object);
}

// Thresholds on what cannot be measured are no pass.
void check_measured(const Options& options, const Counts& counts) {
  const bool needs_scores = options.min_top1 || options.max_drop || options.min_agreement;
  if (needs_scores && !counts.has_scores()) {
    fail(Error::Code::invalid_argument,
         "--min-top1, --max-drop and --min-agreement are about the scores of classes, but {}",
         counts.without_scores());
  }
  if (counts.labelled() == 0 && (options.min_top1 || options.max_drop)) {
    fail(Error::Code::invalid_argument, "{}: --min-top1 and --max-drop need labels (see --labels)",
         options.data.data.string());
  }
}

int run(Options& options) {
  if (!options.detection.boxes.empty() && options.detection.detector.empty())
    fail(Error::Code::invalid_argument, "--boxes has no use without --detector");
  options.engine = readable(options.engine);
  put_in_force(options.limits, options.engine);
  const bool needs_reference = options.min_agreement || options.max_drop || options.min_sqnr ||
                               options.comparison.any() || options.reference.save->given();
  if (needs_reference && !options.reference.given()) {
    fail(Error::Code::invalid_argument,
         "--min-agreement, --max-drop, --min-sqnr, --save-outputs and the flags that judge outputs "
         "compare with a model; add --against or --load-outputs");
  }
  const Engine engine = open_engine({options.engine, options.threads, options.model_flags});
  Measured measured = measure(options, engine);
  std::ranges::copy(measured.nan.warnings, std::back_inserter(measured.warnings));
  check_measured(options, measured.counts);
  const std::vector<Threshold> judged = thresholds(options, measured);
  if (options.json) {
    print_counts_json(options, measured, judged);
  } else {
    print_counts(options, measured);
  }
  for (const std::string& warning : measured.warnings) print_warning(warning);
  for (const std::string& name : measured.skipped) print_warning("skipped " + name);
  return exit_code(judged);
}

void add_threshold_flags(CLI::App& app, Options& options) {
  const char* group = "Thresholds: exit code 1 when missed";
  app.add_option("--min-top1", options.min_top1, "least top-1")
      ->type_name("X")
      ->transform(share_in(kFraction))
      ->group(group);
  app.add_option("--min-agreement", options.min_agreement, "least agreement")
      ->type_name("X")
      ->transform(share_in(kFraction))
      ->group(group);
  app.add_option("--max-drop", options.max_drop, "largest loss of top-1, in points")
      ->type_name("POINTS")
      ->transform(share_in(kPoints))
      ->group(group);
  app.add_option("--min-sqnr", options.min_sqnr, "least SQNR of the outputs")
      ->type_name("DB")
      ->check(any_number())
      ->group(group);
}

void add_flags(CLI::App& app, Options& options) {
  add_engine_argument(app, options.engine);
  add_data_flags(app, options.data, "--data", "labelled images or arrays")->required();
  add_reference_flags(app, options.outputs, options.reference);
  add_choice<LabelRule>(app, "--labels", options.labels,
                        {{"folder", LabelRule::folder}, {"prefix", LabelRule::prefix}},
                        "where labels come from");
  app.add_option("--label-offset", options.label_offset,
                 "added to each label: 1 for models with a background class")
      ->type_name("N");
  app.add_option("--scores", options.scores,
                 "the output that holds the scores of classes, where there are others")
      ->type_name("NAME");
  add_detection_flags(app, options.detection, "Detectors");
  add_threads_flag(app, options.threads);
  add_devices_flag(app, options.device);
  add_common_flags(app, options);
  add_threshold_flags(app, options);
  add_comparison_flags(app, options.comparison);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::eval_cli
