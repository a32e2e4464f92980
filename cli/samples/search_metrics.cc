// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/search_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <sstream>

#include "cli/fail.h"
#include "cli/flags/choice.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/interrupt.h"
#include "cli/output/terminal.h"
#include "cli/samples/eval_counts.h"
#include "octet/input.h"
#include "octet/metric_program.h"

namespace octet::cli {
namespace {

constexpr std::string_view kCommand = "command:";
// Of what is equal to the bit.
constexpr double kMostDecibels = 200;
constexpr uint64_t kMostScript = uint64_t{1} << 20;
constexpr uint64_t kMostLabels = uint64_t{1} << 30;

using Which = std::span<const size_t>;
using Value = std::function<double(Which, OutputsOfSamples, OutputsOfSamples)>;

double decibels_of(double ratio) {
  return ratio > 0 ? std::min(kMostDecibels, 10 * std::log10(ratio)) : -kMostDecibels;
}

// Of classifiers.
Value share_of_answers(const MetricFlags& flags, const std::vector<TensorInfo>& outputs,
                       const std::vector<LoadedSample>& samples) {
  return [flags, outputs, &samples](Which which, OutputsOfSamples truth, OutputsOfSamples got) {
    Counts counts(outputs, flags.scores, flags.label_offset);
    for (size_t i = 0; i < which.size(); ++i) counts.add(samples[which[i]], got[i], &truth[i]);
    if (!counts.has_scores()) {
      fail(Error::Code::invalid_argument, "--metric {} needs scores of classes: {}", flags.metric,
           counts.without_scores());
    }
    if (flags.metric == "agreement") return counts.agreement();
    if (counts.labelled() == 0)
      fail(Error::Code::invalid_argument,
           "--metric top1 needs labels, and the data have none (see --labels)");
    return counts.top1();
  };
}

struct Squares {
  double error = 0, power = 0;
  int64_t elements = 0;

  void add(const Tensor& truth, const Tensor& got) {
    if (truth.dtype() != Dtype::f32) return;
    if (truth.shape() != got.shape()) {
      error = std::numeric_limits<double>::infinity();
      return;
    }
    const auto x = truth.as<float>(), y = got.as<float>();
    for (size_t i = 0; i < x.size(); ++i) {
      const double difference = double{x[i]} - double{y[i]};
      // Where both are infinite, or NaN, they are the same.
      if (x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i]))) error += difference * difference;
      if (std::isfinite(x[i])) power += double{x[i]} * double{x[i]};
    }
    elements += std::ssize(x);
  }
};

double sqnr(Which, OutputsOfSamples truth, OutputsOfSamples got) {
  Squares squares;
  for (size_t s = 0; s < got.size(); ++s) {
    for (size_t o = 0; o < got[s].size(); ++o) squares.add(truth[s][o], got[s][o]);
  }
  if (squares.error == 0) return kMostDecibels;
  return std::isfinite(squares.error) ? decibels_of(squares.power / squares.error) : -kMostDecibels;
}

// The mean over samples, as pictures are compared.
double psnr(double peak, OutputsOfSamples truth, OutputsOfSamples got) {
  double sum = 0;
  for (size_t s = 0; s < got.size(); ++s) {
    Squares squares;
    for (size_t o = 0; o < got[s].size(); ++o) squares.add(truth[s][o], got[s][o]);
    const double mean = squares.error / std::max(1.0, static_cast<double>(squares.elements));
    sum += mean == 0             ? kMostDecibels
           : std::isfinite(mean) ? decibels_of(peak * peak / mean)
                                 : -kMostDecibels;
  }
  return sum / static_cast<double>(got.size());
}

// The class of each pixel: of [1,C,...] the channel with the largest score, of one channel whether it is above the middle of 0 and 1.
std::vector<int> mask_of(const Tensor& scores) {
  const Shape& shape = scores.shape();
  const auto channels = static_cast<size_t>(shape[1]);
  const auto x = scores.as<float>();
  const size_t pixels = channels > 0 ? x.size() / channels : 0;
  std::vector<int> mask(pixels);
  for (size_t p = 0; p < pixels; ++p) {
    if (channels == 1) {
      mask[p] = x[p] > 0.5F ? 1 : 0;
      continue;
    }
    size_t best = 0;
    for (size_t c = 1; c < channels; ++c) {
      if (x[c * pixels + p] > x[best * pixels + p]) best = c;
    }
    mask[p] = static_cast<int>(best);
  }
  return mask;
}

// Of one class over all samples.
struct Overlap {
  int64_t both = 0, either = 0;
};

void add_masks(const std::vector<int>& truth, const std::vector<int>& got,
               std::map<int, Overlap>& classes) {
  for (size_t p = 0; p < truth.size(); ++p) {
    ++classes[truth[p]].either;
    if (truth[p] == got[p]) {
      ++classes[truth[p]].both;
    } else {
      ++classes[got[p]].either;
    }
  }
}

size_t mask_output(const MetricFlags& flags, const std::vector<TensorInfo>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorType& type = outputs[i].type;
    if (!flags.scores.empty() && outputs[i].name != flags.scores) continue;
    if (type.dtype == Dtype::f32 && type.shape.rank() == 4) return i;
  }
  fail(Error::Code::invalid_argument,
       "--metric iou needs scores of pixels, an output [1,C,H,W] of f32{}; the outputs are {}",
       flags.scores.empty() ? "" : " called '" + flags.scores + "'", joined(tensor_names(outputs)));
}

// The mean over the classes that the float model or the engine sees. A single channel's background is none.
Value mean_overlap(const MetricFlags& flags, const std::vector<TensorInfo>& outputs) {
  const size_t output = mask_output(flags, outputs);
  return [output](Which, OutputsOfSamples truth, OutputsOfSamples got) {
    std::map<int, Overlap> classes;
    bool single = false;
    for (size_t s = 0; s < got.size(); ++s) {
      const Tensor &a = truth[s][output], &b = got[s][output];
      if (a.shape() != b.shape()) return 0.0;
      single = a.shape()[1] == 1;
      add_masks(mask_of(a), mask_of(b), classes);
    }
    if (single) classes.erase(0);
    double sum = 0;
    for (const auto& [label, overlap] : classes)
      sum += static_cast<double>(overlap.both) / static_cast<double>(overlap.either);
    return classes.empty() ? 1.0 : sum / static_cast<double>(classes.size());
  };
}

std::vector<std::string> command_words(const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Value by_program(const MetricFlags& flags, const std::vector<TensorInfo>& outputs,
                 const std::vector<LoadedSample>& samples) {
  const MetricProgram program{command_words(flags.metric.substr(kCommand.size())), flags.seconds,
                              InterruptWatch::came};
  return [program, names = tensor_names(outputs), &samples](Which which, OutputsOfSamples,
                                                            OutputsOfSamples got) {
    std::vector<std::string> of_samples;
    for (size_t s : which) of_samples.push_back(samples[s].name);
    return run_metric_program(program, names, of_samples, got);
  };
}

bool is_of_boxes(const std::string& metric) {
  return metric == "map" || metric == "map50" || metric == "boxes";
}

// Of detectors: by labels over all scores, or the boxes of the float model.
Value of_boxes(const MetricFlags& flags, const Engine& engine,
               const std::vector<LoadedSample>& samples) {
  if (flags.detection.detector.empty()) {
    fail(Error::Code::invalid_argument,
         "--metric {} needs --detector, which says how outputs become boxes", flags.metric);
  }
  if (flags.metric != "boxes" && flags.detection.boxes.empty()) {
    fail(Error::Code::invalid_argument,
         "--metric {} needs labels by --boxes; --metric boxes holds boxes against those of FP32",
         flags.metric);
  }
  const auto reader =
      std::make_shared<const BoxReader>(flags.detection, engine.outputs(), engine.preprocess());
  return [reader, metric = flags.metric, &samples](Which which, OutputsOfSamples truth,
                                                   OutputsOfSamples got) {
    std::vector<std::vector<DetectedBox>> found, wanted;
    std::vector<std::vector<TrueBox>> labels;
    for (size_t i = 0; i < which.size(); ++i) {
      const LoadedSample& sample = samples[which[i]];
      if (metric == "boxes") {
        found.push_back(reader->boxes(sample, got[i]));
        wanted.push_back(reader->boxes(sample, truth[i]));
      } else {
        found.push_back(reader->all_boxes(sample, got[i]));
        labels.push_back(reader->truth(sample));
      }
    }
    if (metric == "boxes") return same_boxes(wanted, found);
    const MeanPrecision precision = mean_precision(found, labels);
    return metric == "map" ? precision.map : precision.map50;
  };
}

bool is_command(const std::string& metric) { return metric.starts_with(kCommand); }

CLI::Validator metric_name() {
  const auto judge = [](std::string& word) -> std::string {
    if (is_command(word))
      return command_words(word.substr(kCommand.size())).empty() ? "'command:' names no program"
                                                                 : "";
    return one_of({"top1", "agreement", "sqnr", "map", "map50", "boxes", "iou", "psnr"})(word);
  };
  return CLI::Validator(judge, {});
}

// Where a program is that is called by its name alone; the word itself where it is nowhere.
std::filesystem::path in_path(const std::string& word) {
  const char* path = std::getenv("PATH");
  if (path == nullptr || word.find('/') != word.npos) return word;
  std::istringstream folders(path);
  std::error_code none;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder) / word;
    if (std::filesystem::is_regular_file(file, none)) return file;
  }
  return word;
}

// A file as a whole, or by when it was written where it is no script or must not be read.
std::string state_of(const std::filesystem::path& file) {
  std::error_code none;
  const uint64_t bytes = std::filesystem::file_size(file, none);
  if (none) return {};
  try {
    if (bytes <= kMostScript) return read_text(file, kMostScript);
  } catch (const Error&) {
    // Not to be read, or being written: the time tells.
  }
  const auto written = std::filesystem::last_write_time(file, none);
  return fmt::format("{} {}", bytes, written.time_since_epoch().count());
}

// The program and the files among its arguments: what they read themselves nobody knows.
std::string state_of_program(const std::string& command) {
  std::string key;
  const std::vector<std::string> words = command_words(command);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::filesystem::path file = i == 0 ? in_path(words[i]) : std::filesystem::path(words[i]);
    std::error_code none;
    if (std::filesystem::is_regular_file(file, none)) key += " " + state_of(file);
  }
  return key;
}

// All that a value depends on besides the outputs.
std::string key_of(const MetricFlags& flags, const std::vector<LoadedSample>& samples) {
  std::string key = fmt::format("{} {} {}", flags.scores, flags.label_offset, flags.peak);
  for (const std::filesystem::path& file :
       {std::filesystem::path(flags.detection.detector), flags.detection.boxes}) {
    std::error_code none;
    if (!is_of_boxes(flags.metric) || file.empty()) continue;
    const bool is_file = std::filesystem::exists(file, none);
    key += " " + (is_file ? read_text(file, kMostLabels) : file.string());
  }
  if (is_command(flags.metric)) key += state_of_program(flags.metric.substr(kCommand.size()));
  for (const LoadedSample& sample : samples) {
    if (flags.metric == "top1") key += sample.label ? fmt::format(" {}", *sample.label) : " -";
    if (is_command(flags.metric) || is_of_boxes(flags.metric)) key += " " + sample.name;
  }
  return key;
}

Value value_of(const MetricFlags& flags, const Engine& engine,
               const std::vector<LoadedSample>& samples) {
  const std::vector<TensorInfo> outputs = engine.outputs();
  if (is_of_boxes(flags.metric)) return of_boxes(flags, engine, samples);
  if (is_command(flags.metric)) return by_program(flags, outputs, samples);
  if (flags.metric == "sqnr") return sqnr;
  if (flags.metric == "psnr") {
    return [peak = flags.peak](Which, OutputsOfSamples truth, OutputsOfSamples got) {
      return psnr(peak, truth, got);
    };
  }
  if (flags.metric == "iou") return mean_overlap(flags, outputs);
  return share_of_answers(flags, outputs, samples);
}

}  // namespace

MetricUnit unit_of(const MetricFlags& flags) {
  if (is_command(flags.metric)) return {};
  if (flags.metric == "sqnr" || flags.metric == "psnr")
    return {.is_decibels = true, .against_float = true};
  return {.points = 100,
          .is_share = true,
          .against_float =
              flags.metric == "agreement" || flags.metric == "iou" || flags.metric == "boxes"};
}

std::string text_of(const MetricUnit& unit, double value) {
  if (std::isnan(value)) return "-";
  if (unit.is_share) return percent(value);
  if (unit.is_decibels) return value >= kMostDecibels ? "exact" : decibels(value);
  return fmt::format("{:.6g}", value);
}

SearchMetric search_metric(const MetricFlags& flags, const Engine& engine,
                           const std::vector<LoadedSample>& samples) {
  return {flags.metric, key_of(flags, samples), value_of(flags, engine, samples)};
}

void add_metric_flags(CLI::App& app, MetricFlags& flags) {
  const char* group = "Search";
  app.add_option(
         "--metric", flags.metric,
         "what the search measures: accuracy by labels (top1, map, map50), agreement with FP32 "
         "(agreement, boxes, iou of masks, psnr, sqnr), or the number that a program prints for an "
         ".npz of the outputs [top1]")
      ->type_name("top1|agreement|sqnr|map|map50|boxes|iou|psnr|command:PROGRAM")
      ->check(metric_name())
      ->group(group);
  app.add_option("--metric-timeout", flags.seconds, "time limit of --metric command:")
      ->type_name("S")
      ->check(from_to(1, 86'400))
      ->capture_default_str()
      ->group(group);
  app.add_option("--peak", flags.peak, "the largest value of a picture, for --metric psnr")
      ->type_name("X")
      ->check(from_to(1e-6, 1e6))
      ->capture_default_str()
      ->group(group);
  add_choice<LabelRule>(app, "--labels", flags.labels,
                        {{"folder", LabelRule::folder}, {"prefix", LabelRule::prefix}},
                        "where labels come from")
      ->group(group);
  app.add_option("--label-offset", flags.label_offset, "added to each label")
      ->type_name("N")
      ->group(group);
  add_detection_flags(app, flags.detection, group);
  app.add_option("--scores", flags.scores,
                 "the output that holds the scores of classes or pixels, where there are others")
      ->type_name("NAME")
      ->group(group);
}

}  // namespace octet::cli
