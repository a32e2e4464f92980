// SPDX-License-Identifier: Apache-2.0
// octet eval: accuracy of an engine on labelled data, and how far it is from the float model on the same data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/data_flags.h"
#include "cli/engine_flags.h"
#include "cli/fail.h"
#include "cli/output_errors.h"
#include "cli/progress.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "octet/compile.h"

namespace octet::cli {
namespace {

constexpr const char* kFooter =
    "Labels: with --labels folder the class is the sub-folder of an image, in alphabetical order "
    "from 0; with\n"
    "--labels prefix it is the number that the file name begins with. Without labels only "
    "agreement and SQNR\n"
    "are measured. Preprocessing comes from the engine; flags override it.\n"
    "Agreement is the share of samples whose top-1 is the same in both; SQNR compares all "
    "outputs.\n\n"
    "Examples:\n"
    "  octet eval resnet20.octet --data test/ --against resnet20.onnx\n"
    "  octet eval mobilenet.octet --data val/ --labels prefix --label-offset 1\n"
    "  octet eval resnet20.octet --data test/ --against resnet20.onnx --max-drop 0.5 "
    "--min-agreement 0.97\n";

struct Options {
  std::filesystem::path engine;
  std::filesystem::path against;
  DataFlags data;
  LabelRule labels = LabelRule::folder;
  int64_t label_offset = 0;
  std::optional<double> min_top1;
  std::optional<double> min_agreement;
  std::optional<double> max_drop;
  std::optional<double> min_sqnr;
  int threads = 1;
  bool quiet = false;
  LimitFlags limits;
  bool json = false;
};

struct Counts {
  int64_t samples = 0;
  int64_t labelled = 0;
  int64_t right = 0;
  int64_t reference_right = 0;
  int64_t agree = 0;
  OutputErrors errors;
  std::vector<std::string> skipped;

  double top1() const { return share(right, labelled); }
  double reference_top1() const { return share(reference_right, labelled); }
  double agreement() const { return share(agree, samples); }
  static double share(int64_t part, int64_t whole) {
    return whole == 0 ? std::nan("") : static_cast<double>(part) / static_cast<double>(whole);
  }
};

// Index of the largest element of the first output; the first of equals.
int64_t top1_of(const std::vector<Tensor>& outputs) {
  const std::vector<float> values = to_floats(outputs.at(0));
  if (values.empty()) return -1;
  return std::max_element(values.begin(), values.end()) - values.begin();
}

void count(const Options& options, const LoadedSample& sample, const std::vector<Tensor>& tested,
           const std::vector<Tensor>* reference, Counts& counts) {
  const int64_t answer = top1_of(tested);
  ++counts.samples;
  if (sample.label) {
    ++counts.labelled;
    counts.right += answer == *sample.label + options.label_offset ? 1 : 0;
  }
  if (reference == nullptr) return;
  const int64_t expected = top1_of(*reference);
  counts.agree += answer == expected ? 1 : 0;
  if (sample.label) {
    counts.reference_right += expected == *sample.label + options.label_offset ? 1 : 0;
  }
  counts.errors.add(*reference, tested);
}

Counts measure(const Options& options, const Engine& engine) {
  DataOptions data = data_options(options.data, engine.preprocess());
  data.labels = options.labels;
  Samples samples(engine, data);
  Context tested = engine.make_context({.threads = options.threads});
  std::optional<Engine> reference_engine;
  std::optional<Context> reference;
  if (!options.against.empty()) {
    reference_engine = reference_for(options.against, engine, options.threads);
    reference.emplace(reference_engine->make_context({.threads = options.threads}));
  }
  Counts counts;
  ProgressBar progress(options.quiet || options.json);
  while (auto sample = samples.next()) {
    const std::vector<Tensor> answer = tested.run(sample->inputs);
    std::vector<Tensor> expected;
    if (reference) expected = reference->run(sample->inputs);
    count(options, *sample, answer, reference ? &expected : nullptr, counts);
    progress.update({"evaluate", counts.samples, samples.size()});
  }
  counts.skipped = samples.skipped();
  if (counts.samples == 0) {
    fail(Error::Code::invalid_argument, "{}: no sample could be read", options.data.data.string());
  }
  return counts;
}

// One line for each threshold that was missed.
std::vector<std::string> missed(const Options& options, const Counts& counts) {
  std::vector<std::string> lines;
  const auto check = [&](bool ok, std::string line) {
    if (!ok) lines.push_back(std::move(line));
  };
  if (options.min_top1) {
    check(counts.top1() >= *options.min_top1,
          fmt::format("top-1 {:.4f} is below {}", counts.top1(), *options.min_top1));
  }
  if (options.min_agreement) {
    check(counts.agreement() >= *options.min_agreement,
          fmt::format("agreement {:.4f} is below {}", counts.agreement(), *options.min_agreement));
  }
  if (options.max_drop) {
    const double drop = 100 * (counts.reference_top1() - counts.top1());
    check(drop <= *options.max_drop,
          fmt::format("top-1 drops by {:.2f} points, more than {}", drop, *options.max_drop));
  }
  if (options.min_sqnr) {
    check(counts.errors.stats().sqnr_db() >= *options.min_sqnr,
          fmt::format("SQNR {:.2f} dB is below {}", counts.errors.stats().sqnr_db(),
                      *options.min_sqnr));
  }
  return lines;
}

nlohmann::ordered_json number(double value) {
  return std::isnan(value) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

void print_counts(const Options& options, const Counts& counts) {
  const bool labelled = counts.labelled > 0;
  fmt::print("samples    {}{}\n", counts.samples,
             counts.skipped.empty() ? "" : fmt::format(" ({} skipped)", counts.skipped.size()));
  if (labelled) {
    fmt::print("top-1      {}   {} of {}\n", percent(counts.top1()), counts.right, counts.labelled);
  } else {
    fmt::print("top-1      no labels: images do not lie in class folders (see --labels)\n");
  }
  if (options.against.empty()) return;
  if (labelled) {
    fmt::print("reference  {}   {} of {}, {:+.2f} points\n", percent(counts.reference_top1()),
               counts.reference_right, counts.labelled,
               100 * (counts.top1() - counts.reference_top1()));
  }
  fmt::print("agreement  {}   {} of {}\n", percent(counts.agreement()), counts.agree,
             counts.samples);
  fmt::print("SQNR       {}\n", decibels(counts.errors.stats().sqnr_db()));
}

void print_counts_json(const Options& options, const Counts& counts) {
  const bool against = !options.against.empty();
  nlohmann::ordered_json object = {
      {"samples", counts.samples},
      {"top1", number(counts.top1())},
      {"reference_top1", number(against ? counts.reference_top1() : std::nan(""))},
      {"agreement", number(against ? counts.agreement() : std::nan(""))},
      {"labelled", counts.labelled},
      {"skipped", counts.skipped}};
  if (against) {
    object["sqnr_db"] = sqnr_json(counts.errors.stats().sqnr_db());
    object["max_abs"] = counts.errors.stats().max_abs();
    object["cosine"] = counts.errors.stats().cosine();
  }
  print_json(object);
}

int run(const Options& options) {
  put_in_force(options.limits, options.engine);
  const bool needs_reference = options.min_agreement || options.max_drop || options.min_sqnr;
  if (needs_reference && options.against.empty()) {
    fail(Error::Code::invalid_argument,
         "--min-agreement, --max-drop and --min-sqnr compare with a float model; add --against");
  }
  const Engine engine = Engine::load(options.engine);
  const Counts counts = measure(options, engine);
  if (counts.labelled == 0 && (options.min_top1 || options.max_drop)) {
    fail(Error::Code::invalid_argument, "{}: --min-top1 and --max-drop need labels (see --labels)",
         options.data.data.string());
  }
  (options.json ? print_counts_json : print_counts)(options, counts);
  for (const std::string& name : counts.skipped) print_warning("skipped " + name);
  const std::vector<std::string> lines = missed(options, counts);
  for (const std::string& line : lines) fmt::print(stderr, "failed: {}\n", line);
  return lines.empty() ? kDone : kThresholdFailed;
}

void add_thresholds(CLI::App& app, Options& options) {
  const char* group = "Thresholds: exit code 1 when missed";
  app.add_option("--min-top1", options.min_top1, "least top-1, 0..1")->type_name("X")->group(group);
  app.add_option("--min-agreement", options.min_agreement, "least agreement, 0..1")
      ->type_name("X")
      ->group(group);
  app.add_option("--max-drop", options.max_drop, "largest loss of top-1, in points")
      ->type_name("POINTS")
      ->group(group);
  app.add_option("--min-sqnr", options.min_sqnr, "least SQNR of the outputs")
      ->type_name("DB")
      ->group(group);
}

}  // namespace

Command add_eval(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("eval", "Measure accuracy, and agreement with the model");
  app->footer(kFooter);
  app->add_option("engine", options->engine, "engine file")->required()->type_name("ENGINE");
  add_data_flags(*app, options->data, "--data", "labelled images or arrays")->required();
  app->add_option("--against", options->against, "hold it against this model in FP32")
      ->type_name("MODEL.onnx");
  app->add_option("--labels", options->labels, "where labels come from")
      ->type_name("folder|prefix")
      ->default_str("folder")
      ->transform(CLI::Transformer(std::map<std::string, LabelRule>{
          {"folder", LabelRule::folder}, {"prefix", LabelRule::prefix}}));
  app->add_option("--label-offset", options->label_offset,
                  "added to each label: 1 for models with a background class")
      ->type_name("N");
  add_threads_flag(*app, options->threads);
  app->add_flag("--quiet", options->quiet, "no progress");
  add_limit_flags(*app, options->limits);
  add_json_flag(*app, options->json);
  add_thresholds(*app, *options);
  return {app, [options] { return run(*options); }};
}

}  // namespace octet::cli
