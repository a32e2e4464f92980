// SPDX-License-Identifier: Apache-2.0
// octet sensitivity: what the quantization of each layer does to the outputs, and the time that it saves.
#include "octet/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/command.h"
#include "cli/fail.h"
#include "cli/flags/calibration_flags.h"
#include "cli/flags/choice.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/favor_flag.h"
#include "cli/flags/number_range.h"
#include "cli/output/journal.h"
#include "cli/output/outputs.h"
#include "cli/output/progress.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/eval_counts.h"
#include "cli/samples/output_errors.h"
#include "cli/samples/samples.h"
#include "octet/error_stats.h"
#include "octet/json.h"
#include "octet/source_model.h"

namespace octet::cli::sensitivity_cli {
namespace {

constexpr CommandHelp kHelp{
    "sensitivity", "Rank layers by what their quantization does to the outputs",
    "ALONE is the loss where nothing but that layer is INT8, WITHOUT the loss where everything "
    "but it is, SAVES\n"
    "the time that INT8 takes off it on this machine. Layers that read one tensor are tried "
    "together, too:\n"
    "their input is codes for all of them or for none. A layer with a great loss and little to "
    "save is one for\n"
    "--keep-float. Each trial runs from the layers that differ; all take at most --max-passes "
    "runs over the\n"
    "samples. With --journal a search that was ended goes on.\n\n"
    "Examples:\n"
    "  octet sensitivity yolo.onnx --calib street/ --letterbox 416x416:114 --top 20\n"
    "  octet sensitivity resnet20.onnx --calib train/ --data val/ --metric agreement --journal "
    "resnet20.journal --json\n"};

enum class Metric { sqnr, agreement, top1 };

struct SensitivityFlags {
  std::filesystem::path model;
  CalibrationFlags calibration;
  std::filesystem::path data;
  LabelRule labels = LabelRule::folder;
  int64_t label_offset = 0;
  std::string scores;
  Metric metric = Metric::sqnr;
  int64_t samples = 16;
  double max_passes = 40;
  int64_t top = 0;
  bool no_times = false;
  std::vector<std::string> shapes;
  CompileOptions compile;
  FavorFlag favor;
  Outputs outputs;
  Output* journal = nullptr;
  LimitFlags limits;
  bool json = false;
};

const char* name_of(Metric metric) {
  return metric == Metric::sqnr ? "sqnr" : metric == Metric::top1 ? "top1" : "agreement";
}

// The samples that layers are tried on, evenly spread over the data.
std::vector<LoadedSample> loaded(const SensitivityFlags& options, const Engine& engine,
                                 ProgressBar& progress) {
  DataFlags flags = options.calibration.data;
  if (!options.data.empty()) flags.data = options.data;
  if (flags.data.empty()) {
    fail(Error::Code::invalid_argument,
         "layers are tried on samples: give --data, or --calib with a folder");
  }
  flags.max_samples = options.samples;
  DataOptions data = data_options(flags, engine.preprocess());
  data.labels = options.labels;
  Samples samples(engine, data, &progress);
  std::vector<LoadedSample> all;
  while (auto sample = samples.next()) all.push_back(*std::move(sample));
  for (const std::string& name : samples.skipped()) print_warning("skipped " + name);
  if (all.empty()) fail(Error::Code::invalid_argument, "no sample could be read");
  return all;
}

Counts counted(const SensitivityFlags& options, const Engine& engine,
               const std::vector<LoadedSample>& samples, OutputsOfSamples truth,
               OutputsOfSamples got) {
  Counts counts(engine.outputs(), options.scores, options.label_offset);
  for (size_t s = 0; s < got.size(); ++s) counts.add(samples[s], got[s], &truth[s]);
  return counts;
}

// Of classifiers: the share of other answers than FP32's, or of wrong ones.
double lost(Metric metric, const Counts& counts) {
  if (!counts.has_scores()) {
    fail(Error::Code::invalid_argument, "--metric {} needs scores of classes: {}", name_of(metric),
         counts.without_scores());
  }
  if (metric == Metric::agreement) return 1 - counts.agreement();
  if (counts.labelled() == 0)
    fail(Error::Code::invalid_argument, "--metric top1 needs labels, and the data have none");
  return 1 - counts.top1();
}

std::string text_of(Metric metric, double loss) {
  if (metric != Metric::sqnr) return percent(1 - loss);
  return loss > 0 ? decibels(0 - 10 * std::log10(loss)) : "exact";
}

std::string short_name(const LayerEffect& effect) {
  if (effect.layers.size() == 1) return effect.layers[0];
  return fmt::format("{} layers that read {}: {}", effect.layers.size(), effect.tensor,
                     joined(effect.layers));
}

// Layers whose loss in INT8 is the model's, for little time.
void print_advice(const SensitivityFlags& options, const Sensitivity& result) {
  const LayerEffect* best = nullptr;
  for (const LayerEffect& effect : result.layers) {
    if (effect.precision != Precision::int8) continue;
    if (best == nullptr || effect.without < best->without) best = &effect;
  }
  if (best == nullptr || best->without >= result.int8) return;
  std::string flags;
  for (const std::string& layer : best->layers)
    flags += fmt::format(" --keep-float '{}'", sanitize(layer));
  fmt::print("\nmost is won by{}: {} -> {}", flags, text_of(options.metric, result.int8),
             text_of(options.metric, best->without));
  if (result.int8_us > 0)
    fmt::print(", for {:.1f} % of INT8's time",
               100 * std::max(0.0, best->saved_us) / result.int8_us);
  fmt::print("\n");
}

void print_table(const SensitivityFlags& options, const Sensitivity& result) {
  fmt::print("{} samples, {:.1f} runs over all; INT8 {}", result.samples, result.passes,
             text_of(options.metric, result.int8));
  if (result.int8_us > 0)
    fmt::print("; {:.3f} ms in FP32, {:.3f} in INT8", result.fp32_us / 1e3, result.int8_us / 1e3);
  fmt::print("\n\n");
  Table table({{"LAYER, most sensitive first", false, 60},
               {"OPERATOR"},
               {"BUILT AS"},
               {"ALONE", true},
               {"WITHOUT", true},
               {"SAVES", true}});
  size_t shown = result.layers.size();
  if (options.top > 0) shown = std::min(shown, static_cast<size_t>(options.top));
  for (const LayerEffect& effect : std::span(result.layers).first(shown)) {
    table.add({short_name(effect), effect.op, std::string(to_string(effect.precision)),
               text_of(options.metric, effect.alone), text_of(options.metric, effect.without),
               result.int8_us > 0 ? fmt::format("{:.0f} us", effect.saved_us) : "-"});
  }
  table.print();
  print_advice(options, result);
}

CompileOptions compile_options(SensitivityFlags& options, ProgressBar& progress) {
  CompileOptions compile = options.compile;
  compile.input_shapes = parse_shapes(options.shapes);
  compile.calibration = calibration_options(options.calibration);
  compile.plan.int8 = true;
  apply(options.favor, compile);
  compile.monitor.report = [&progress](const Progress& now) {
    progress.update(now);
    return true;
  };
  return compile;
}

// All that a loss depends on besides model, data and plan.
std::string key_of(const SensitivityFlags& options, const std::vector<LoadedSample>& samples) {
  std::string key =
      fmt::format("{} {} {}", name_of(options.metric), options.scores, options.label_offset);
  if (options.metric != Metric::top1) return key;
  for (const LoadedSample& sample : samples)
    key += sample.label ? fmt::format(" {}", *sample.label) : " -";
  return key;
}

int run(SensitivityFlags& options) {
  options.model = readable(options.model);
  put_in_force(options.limits, options.model);
  ProgressBar progress(options.json);
  const CompileOptions compile = compile_options(options, progress);
  Journal journal(*options.journal);
  const SourceModel source = SourceModel::read(options.model, compile);
  PrecisionPlan real = compile.plan;
  real.int8 = false;
  const Engine engine = source.build(real);
  const std::vector<LoadedSample> samples = loaded(options, engine, progress);
  SensitivityOptions how;
  how.plan = compile.plan;
  for (const LoadedSample& sample : samples) how.samples.push_back(sample.inputs);
  how.metric = key_of(options, samples);
  if (options.metric != Metric::sqnr) {
    how.loss = [&](OutputsOfSamples truth, OutputsOfSamples got) {
      return lost(options.metric, counted(options, engine, samples, truth, got));
    };
  }
  how.max_passes = options.max_passes;
  how.times = !options.no_times;
  how.threads = compile.threads;
  how.device = options.calibration.device;
  how.monitor = compile.monitor;
  how.recall = [&](const std::string& key) { return journal.recall(key); };
  how.record = [&](const std::string& key, double loss) { journal.record(key, loss); };
  const Sensitivity result = sensitivity(source, how);
  progress.finish();
  if (options.json) {
    nlohmann::ordered_json object = {{"model", options.model.string()},
                                     {"metric", name_of(options.metric)},
                                     {"recalled", journal.recalled()}};
    object.update(parsed(to_json(result)));
    print_json(object);
  } else {
    print_table(options, result);
  }
  return kDone;
}

void add_judging_flags(CLI::App& app, SensitivityFlags& options) {
  app.add_option("--data", options.data, "samples to try layers on [those of --calib]")
      ->type_name("DIR|FILE");
  app.add_option("--samples", options.samples, "use N of these, evenly spread")
      ->type_name("N")
      ->check(from_to(int64_t{1}, int64_t{100'000}))
      ->capture_default_str();
  add_choice<Metric>(
      app, "--metric", options.metric,
      {{"sqnr", Metric::sqnr}, {"agreement", Metric::agreement}, {"top1", Metric::top1}},
      "measure of the loss: SQNR of the outputs, agreement with FP32, or top-1");
  add_choice<LabelRule>(app, "--labels", options.labels,
                        {{"folder", LabelRule::folder}, {"prefix", LabelRule::prefix}},
                        "where labels come from");
  app.add_option("--label-offset", options.label_offset, "added to each label")->type_name("N");
  app.add_option("--scores", options.scores,
                 "the output that holds the scores of classes, where there are others")
      ->type_name("NAME");
  app.add_option("--max-passes", options.max_passes,
                 "work of all trials at most, in runs of the model over the samples: fewer samples "
                 "are tried where it would be more")
      ->type_name("N")
      ->check(from_to(1.0, 1e6))
      ->capture_default_str();
}

void add_flags(CLI::App& app, SensitivityFlags& options) {
  app.add_option("model", options.model, "ONNX model")->required()->type_name("MODEL.onnx");
  add_calibration_flags(app, options.outputs, options.calibration);
  add_judging_flags(app, options);
  app.add_option("--keep-float", options.compile.plan.keep_float,
                 "leave a node, by name or operator, in FP32; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_favor_flag(app, options.favor);
  options.journal = &options.outputs.add_flag(
      app, {"--journal", "FILE", OutputKind::journal,
            "keep every trial in this file, and take from it what it holds"});
  app.add_flag("--no-times", options.no_times, "measure no times");
  app.add_option("--top", options.top, "show only the N most sensitive [0: all]")
      ->type_name("N")
      ->check(from(int64_t{0}));
  add_shape_flag(app, options.shapes);
  add_threads_flag(app, options.compile.threads);
  add_last_flags(app, options.compile.weights_root, options.limits, options.json);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::sensitivity_cli
