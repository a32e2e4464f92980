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

#include "core/monitor.h"
#include "octet/error.h"
#include "pipeline/run_each.h"

namespace octet {
namespace {

// The error has a quarter of the signal's power: classes, boxes and masks are others then.
constexpr f64 kBeyondUse = 6;  // dB

struct SignalAndError {
  f64 signal = 0, error = 0;
  bool comparable = true;

  void add(const Tensor& got, const Tensor& want) {
    comparable &= got.shape() == want.shape();
    if (!comparable) return;
    const auto a = got.as<f32>(), b = want.as<f32>();
    for (size_t i = 0; i < b.size(); ++i) {
      if (!std::isfinite(b[i])) continue;
      const f64 difference = f64{a[i]} - f64{b[i]};
      error += difference * difference;
      signal += f64{b[i]} * f64{b[i]};
    }
  }

  f64 sqnr_db() const {
    constexpr f64 kInfinite = std::numeric_limits<f64>::infinity();
    if (error == 0) return kInfinite;
    if (signal == 0 || !std::isfinite(error)) return -kInfinite;
    return 10 * std::log10(signal / error);
  }
};

std::vector<OutputLoss> compared(const Graph& graph, std::span<const std::vector<Tensor>> got,
                                 std::span<const std::vector<Tensor>> want) {
  std::vector<OutputLoss> losses;
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    if (want[0][o].dtype() != Dtype::f32 || got[0][o].dtype() != Dtype::f32) continue;
    SignalAndError squares;
    for (size_t i = 0; i < want.size(); ++i) squares.add(got[i][o], want[i][o]);
    if (squares.comparable)
      losses.push_back({graph.value(graph.outputs[o]).name, squares.sqnr_db()});
  }
  return losses;
}

std::string words(const OutputLoss& loss) {
  if (!std::isfinite(loss.sqnr_db)) return fmt::format("'{}' none of its signal", loss.output);
  return fmt::format("'{}' {:.1f} dB", loss.output, loss.sqnr_db);
}

}  // namespace

std::vector<OutputLoss> output_losses(const FloatModel& model,
                                      const std::shared_ptr<const Model>& engine,
                                      const StageOptions& stage) {
  if (model.calibration == nullptr || model.calibration->compared_samples.empty()) return {};
  const std::span<const std::vector<Tensor>> samples = model.calibration->compared_samples;
  report_progress(stage.monitor, "compare outputs", 0, 2);
  try {
    const auto want = run_each(std::make_shared<const Model>(quantize(model, {})), samples, stage);
    report_progress(stage.monitor, "compare outputs", 1, 2);
    const auto got = run_each(engine, samples, stage);
    report_progress(stage.monitor, "compare outputs", 2, 2);
    return compared(*model.graph, got, want);
  } catch (const Error& error) {
    if (error.code() == Error::Code::out_of_memory) return {};
    throw;
  }
}

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

}  // namespace octet
