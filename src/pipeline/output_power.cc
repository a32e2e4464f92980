// SPDX-License-Identifier: Apache-2.0
#include "pipeline/output_power.h"

#include <cmath>

namespace octet {
namespace {

struct Squares : ErrorPower {
  // False where no number says how far apart they are: one of them is infinite, or NaN.
  bool add(f32 got, f32 truth) {
    if (got == truth || (std::isnan(got) && std::isnan(truth))) {
      power += std::isfinite(truth) ? f64{truth} * f64{truth} : 0;
      return true;
    }
    const f64 difference = f64{got} - f64{truth};
    error += difference * difference;
    power += f64{truth} * f64{truth};
    return std::isfinite(difference);
  }
  bool add(const Tensor& got, const Tensor& truth) {
    // Where data tell sizes, there is no telling which elements belong together.
    if (got.shape() != truth.shape()) return false;
    const auto x = got.as<f32>(), y = truth.as<f32>();
    for (size_t i = 0; i < y.size(); ++i) {
      if (!add(x[i], y[i])) return false;
    }
    return true;
  }
};

}  // namespace

f64 relative_error(SampleOutputsView truth, SampleOutputsView got) {
  Squares squares;
  for (size_t s = 0; s < got.size(); ++s) {
    for (size_t o = 0; o < got[s].size(); ++o) {
      if (truth[s][o].dtype() == Dtype::f32 && !squares.add(got[s][o], truth[s][o])) return 1;
    }
  }
  if (squares.error == 0) return 0;
  return squares.power > 0 ? squares.error / squares.power : 1;
}

std::optional<ErrorPower> error_power(SampleOutputsView truth, SampleOutputsView got,
                                      size_t output) {
  Squares squares;
  for (size_t s = 0; s < got.size(); ++s) {
    if (!squares.add(got[s][output], truth[s][output])) return std::nullopt;
  }
  return squares;
}

std::optional<f64> mean_relative_error(SampleOutputsView truth, SampleOutputsView got) {
  if (got.empty()) return std::nullopt;
  f64 sum = 0;
  s64 outputs = 0;
  for (size_t o = 0; o < got[0].size(); ++o) {
    if (truth[0][o].dtype() != Dtype::f32) continue;
    const std::optional<ErrorPower> squares = error_power(truth, got, o);
    if (!squares) return std::nullopt;
    if (squares->error > 0) sum += squares->power > 0 ? squares->error / squares->power : 1;
    ++outputs;
  }
  if (outputs == 0) return std::nullopt;
  return sum / static_cast<f64>(outputs);
}

}  // namespace octet
