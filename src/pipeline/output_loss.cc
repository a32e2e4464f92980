// SPDX-License-Identifier: Apache-2.0
#include "pipeline/output_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/memory.h"
#include "core/monitor.h"
#include "octet/error.h"
#include "pipeline/output_power.h"
#include "pipeline/run_each.h"

namespace octet {
namespace {

// The error has a quarter of the signal's power: classes, boxes and masks are others then.
constexpr f64 kBeyondUse = 6;  // dB

f64 sqnr_db(const std::optional<ErrorPower>& squares) {
  constexpr f64 kInfinite = std::numeric_limits<f64>::infinity();
  if (!squares) return -kInfinite;
  if (squares->error == 0) return kInfinite;
  return 10 * std::log10(squares->power / squares->error);
}

std::vector<OutputLoss> compared(const Graph& graph, SampleOutputsView truth,
                                 SampleOutputsView got) {
  std::vector<OutputLoss> losses;
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    const auto is_alike = [&](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
      return a[o].dtype() == Dtype::f32 && a[o].type() == b[o].type();
    };
    if (std::ranges::equal(truth, got, is_alike))
      losses.push_back({graph.value(graph.outputs[o]).name, sqnr_db(error_power(truth, got, o))});
  }
  return losses;
}

std::string words(const OutputLoss& loss) {
  if (!std::isfinite(loss.sqnr_db)) return fmt::format("'{}' none of its signal", loss.output);
  return fmt::format("'{}' {:.1f} dB", loss.output, loss.sqnr_db);
}

std::vector<OutputLoss> output_losses(const FloatModel& model,
                                      const std::shared_ptr<const Model>& engine,
                                      const StageOptions& stage) {
  const std::span<const std::vector<Tensor>> samples = model.calibration->compared_samples;
  report_progress(stage.monitor, "compare outputs", 0, 2);
  const auto want = run_each(std::make_shared<const Model>(quantize(model, {})), samples, stage);
  report_progress(stage.monitor, "compare outputs", 1, 2);
  const auto got = run_each(engine, samples, stage);
  report_progress(stage.monitor, "compare outputs", 2, 2);
  return compared(*model.graph, want, got);
}

// A line for the user where outputs are beyond use; else nothing.
std::optional<std::string> warning_of(std::span<const OutputLoss> losses) {
  std::vector<OutputLoss> bad;
  std::ranges::copy_if(losses, std::back_inserter(bad),
                       [](const OutputLoss& loss) { return loss.sqnr_db < kBeyondUse; });
  if (bad.empty()) return std::nullopt;
  std::ranges::stable_sort(bad, {}, &OutputLoss::sqnr_db);
  constexpr size_t kShown = 3;
  std::string which = words(bad[0]);
  for (size_t i = 1; i < std::min(bad.size(), kShown); ++i) which += ", " + words(bad[i]);
  if (bad.size() > kShown) which += fmt::format(" and {} more", bad.size() - kShown);
  return fmt::format(
      "INT8 leaves {} of {} outputs with less than {} dB of signal over noise on calibration "
      "samples: {}; rank the layers by what their quantization does to them, and keep the first in "
      "f32",
      bad.size(), losses.size(), kBeyondUse, which);
}

}  // namespace

void report_output_losses(const FloatModel& model, const std::shared_ptr<const Model>& engine,
                          const StageOptions& stage, CompileReport& report) {
  if (model.calibration == nullptr || model.calibration->compared_samples.empty()) return;
  try {
    report.output_losses = without_bad_alloc([&] { return output_losses(model, engine, stage); });
  } catch (const Error& error) {
    using enum Error::Code;
    if (error.code() == cancelled || error.code() == internal) throw;
    if (error.code() != out_of_memory) {
      report.warnings.push_back(fmt::format(
          "the INT8 engine does not run a sample on which it was calibrated: {}", error.message()));
    }
  }
  if (std::optional<std::string> warning = warning_of(report.output_losses))
    report.warnings.push_back(std::move(*warning));
}

}  // namespace octet
