// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/eval_trials.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/output/terminal.h"
#include "cli/samples/sample_runs.h"

namespace octet::cli {
namespace {

constexpr int64_t kSamples = 200;
constexpr int64_t kSamplesOfMany = 50;  // where there is much to try
// Right answers more than now, in deviations of the number of answers that changed; chance does not reach that.
constexpr double kClearly = 2.5;
constexpr int64_t kLeast = 5;

std::string words_of(const InputDoubt& doubt) {
  if (std::string flags = flags_of(doubt); !flags.empty()) return flags;
  if (doubt.reverse_channels) return "the channels in the opposite order (RGB for BGR)";
  return "the data prepared once, as for calibration,";
}

bool clearly_better(const Counts& counts) {
  const int64_t gain = counts.right() - counts.reference_right();
  const auto changed = static_cast<double>(counts.samples() - counts.agree());
  return gain >= kLeast && static_cast<double>(gain) >= kClearly * std::sqrt(changed);
}

}  // namespace

std::string Trial::text() const {
  return fmt::format("with {} top-1 would be {} (of {} samples, {} as they are)", how,
                     percent(top1), samples, percent(present));
}

std::optional<Trial> try_preparations(const Engine& engine, const TrialOptions& options,
                                      const std::vector<InputDoubt>& others) {
  if (others.empty()) return std::nullopt;
  DataOptions data = options.data;
  const int64_t most = others.size() > 2 ? kSamplesOfMany : kSamples;
  if (data.max_samples == 0 || data.max_samples > most) data.max_samples = most;
  Samples samples(engine, data);
  Context context = engine.make_context({.threads = options.threads});
  std::vector<Runner> runners = {runner_of(context)};
  std::vector<Counts> counts;
  for (const InputDoubt& other : others) {
    counts.emplace_back(engine.outputs(), options.scores, options.label_offset);
    runners.push_back([&](std::span<const Tensor> inputs) {
      std::vector<Tensor> otherwise(inputs.begin(), inputs.end());
      otherwise[other.input] = repaired(otherwise[other.input], other);
      return context.run(otherwise);
    });
  }
  run_samples(engine, samples, runners, [&](const LoadedSample& sample, auto outputs) {
    for (size_t i = 0; i < others.size(); ++i) counts[i].add(sample, outputs[i + 1], &outputs[0]);
  });
  std::optional<Trial> best;
  for (size_t i = 0; i < others.size(); ++i) {
    if (!clearly_better(counts[i]) || (best && best->top1 >= counts[i].top1())) continue;
    best = {words_of(others[i]), others[i], counts[i].samples(), counts[i].top1(),
            counts[i].reference_top1()};
  }
  return best;
}

nlohmann::ordered_json trial_json(const std::optional<Trial>& trial) {
  if (!trial) return nullptr;
  const std::string flags = flags_of(trial->doubt);
  return {
      {"how", trial->how},
      {"cause", to_string(trial->doubt.cause)},
      {"flags", flags.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(flags)},
      {"samples", trial->samples},
      {"top1", trial->top1},
      {"present_top1", trial->present}};
}

}  // namespace octet::cli
