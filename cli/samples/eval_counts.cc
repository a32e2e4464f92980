// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/eval_counts.h"

#include <algorithm>
#include <cmath>

#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/output/terminal.h"
#include "cli/samples/class_scores.h"

namespace octet::cli {
namespace {

// Of the way from guessing to always right: less is no model of these labels.
constexpr double kHardlyBetter = 0.2;
constexpr int64_t kEnoughToTell = 10;

double beyond_chance(double accuracy, int64_t classes) {
  const double chance = 1 / static_cast<double>(classes);
  return (accuracy - chance) / (1 - chance);
}

}  // namespace

Counts::Counts(std::vector<TensorInfo> outputs, std::string scores, int64_t offset)
    : outputs_(std::move(outputs)), wanted_(std::move(scores)), offset_(offset) {
  const auto named = [&](const TensorInfo& info) { return info.name == wanted_; };
  if (wanted_.empty() || std::any_of(outputs_.begin(), outputs_.end(), named)) return;
  fail(Error::Code::invalid_argument, "--scores {}: no such output; the outputs are {}", wanted_,
       joined(tensor_names(outputs_)));
}

double Counts::share(int64_t part, int64_t whole) {
  return whole == 0 ? std::nan("") : static_cast<double>(part) / static_cast<double>(whole);
}

double Counts::reference_top1() const {
  return compared_ == 0 ? std::nan("") : share(reference_.right, labelled_);
}

void Counts::Right::count(int64_t answer, int64_t label) {
  right += answer == label ? 1 : 0;
  below += answer == label - 1 ? 1 : 0;
  above += answer == label + 1 ? 1 : 0;
}

// A detector's outputs are of several kinds, or no line of scores: the largest of all their numbers means nothing. So the first output
// counts where each is scores, or the one that is named.
void Counts::find_scores(std::span<const Tensor> outputs) {
  bool all = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    types_.push_back(outputs[i].type());
    all = all && is_class_scores(types_.back());
    if (outputs_[i].name == wanted_) scores_ = i;
  }
  if (!scores_ && all && !outputs.empty()) scores_ = 0;
  if (scores_) classes_ = outputs[*scores_].elements();
}

void Counts::add(const LoadedSample& sample, std::span<const Tensor> tested,
                 const std::vector<Tensor>* reference) {
  if (samples_++ == 0) find_scores(tested);
  if (reference != nullptr) {
    ++compared_;
    errors_.add(*reference, {tested.begin(), tested.end()});
  }
  if (!scores_) return;
  const auto best = [&](std::span<const Tensor> outputs) {
    const std::vector<Ranked> top = top_of(outputs[*scores_], 1);
    return top.empty() ? int64_t{-1} : top[0].index;
  };
  const int64_t answer = best(tested);
  const int64_t expected = reference != nullptr ? best(*reference) : answer;
  agree_ += answer == expected ? 1 : 0;
  if (!sample.label) return;
  ++labelled_;
  tested_.count(answer, *sample.label + offset_);
  reference_.count(expected, *sample.label + offset_);
}

std::string Counts::without_scores() const {
  std::string text;
  for (size_t i = 0; i < types_.size(); ++i) {
    if (is_class_scores(types_[i])) continue;
    text +=
        fmt::format("{}'{}' {}", text.empty() ? "" : ", ", outputs_[i].name, to_string(types_[i]));
  }
  return text + " is not the scores of classes; --scores NAME says which output is";
}

std::optional<std::string> Counts::doubt() const {
  if (labelled_ < kEnoughToTell || classes_ < 2) return std::nullopt;
  // Without a reference the two are the same.
  const double accuracy = share(reference_.right, labelled_);
  if (beyond_chance(accuracy, classes_) >= kHardlyBetter) return std::nullopt;
  std::string text = fmt::format("the {} is right for {} of these samples, and guessing for {}",
                                 compared_ > 0 ? "model in FP32" : "engine", percent(accuracy),
                                 percent(1 / static_cast<double>(classes_)));
  const bool above = reference_.above >= reference_.below;
  const double beside = share(std::max(reference_.above, reference_.below), labelled_);
  if (beyond_chance(beside, classes_) >= kHardlyBetter) {
    return text + fmt::format("; with --label-offset {} it is right for {}",
                              offset_ + (above ? 1 : -1), percent(beside));
  }
  return text +
         ": are the labels those of the model, and the preprocessing (--scale, --mean, --std, "
         "--color, --layout) that of its training?";
}

}  // namespace octet::cli
