// SPDX-License-Identifier: Apache-2.0
#include "precision/round_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ops/attributes/window.h"
#include "passes/match.h"

namespace octet {
namespace {

constexpr f64 kLargestCode = 127;
// How alike pixels are that lie side by side, as a correlation; it falls by that with each step. Between .5 and .95 networks hardly differ.
constexpr f64 kAlike = 0.5;
// What it takes to choose grows with the square of the window.
constexpr size_t kMostTaps = 121;

// Of each two pixels that a window reads.
std::vector<f64> likeness(const Shape& weights, std::span<const s64> dilations) {
  const s64 width = weights[3], taps = weights[2] * width;
  std::vector<f64> alike;
  for (s64 a = 0; a < taps; ++a) {
    for (s64 b = 0; b < taps; ++b) {
      const s64 rows = std::abs(a / width - b / width) * dilations[0];
      const s64 columns = std::abs(a % width - b % width) * dilations[1];
      alike.push_back(std::pow(kAlike, static_cast<f64>(rows + columns)));
    }
  }
  return alike;
}

// Makes e^T R e small, where e are the errors of a window's weights in codes and R the likeness of its pixels: from the nearest codes on, the weight
// whose other code gains most takes it, until none gains.
class Window {
 public:
  Window(std::vector<f64> likeness, size_t taps)
      : likeness_(std::move(likeness)), codes_(taps), errors_(taps), pulls_(taps) {}

  void round(std::span<f32> weights, f32 scale) {
    for (size_t i = 0; i < weights.size(); ++i) {
      const f64 real = f64{weights[i]} / f64{scale};
      codes_[i] = std::clamp(std::nearbyint(real), -kLargestCode, kLargestCode);
      errors_[i] = codes_[i] - real;
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      pulls_[i] = 0;
      for (size_t j = 0; j < weights.size(); ++j) pulls_[i] += alike(i, j) * errors_[j];
    }
    for (size_t best = best_move(); best < weights.size(); best = best_move()) move(best);
    for (size_t i = 0; i < weights.size(); ++i) {
      // The widest weight is what the scale follows from.
      if (std::fabs(codes_[i]) < kLargestCode) weights[i] = static_cast<f32>(codes_[i] * scale);
    }
  }

 private:
  f64 alike(size_t a, size_t b) const { return likeness_[a * codes_.size() + b]; }
  f64 step_of(size_t i) const { return pulls_[i] > 0 ? -1 : 1; }

  bool has_other_code(size_t i) const {
    const f64 step = step_of(i);
    return std::max(std::fabs(codes_[i]), std::fabs(codes_[i] + step)) < kLargestCode &&
           std::fabs(errors_[i] + step) < 1;
  }

  // Beyond the last one: none.
  size_t best_move() const {
    constexpr f64 kLeastGain = 1e-9;  // what is less may be an error of these sums
    f64 most = kLeastGain;
    size_t best = codes_.size();
    for (size_t i = 0; i < codes_.size(); ++i) {
      const f64 gain = 2 * std::fabs(pulls_[i]) - 1;
      if (gain <= most || !has_other_code(i)) continue;
      most = gain;
      best = i;
    }
    return best;
  }

  void move(size_t i) {
    const f64 step = step_of(i);
    codes_[i] += step;
    errors_[i] += step;
    for (size_t j = 0; j < codes_.size(); ++j) pulls_[j] += step * alike(j, i);
  }

  std::vector<f64> likeness_;
  std::vector<f64> codes_, errors_;
  std::vector<f64> pulls_;  // R e
};

}  // namespace

Tensor rounded_windows(const Tensor& weights, std::span<const f32> scales,
                       std::span<const s64> dilations) {
  const auto taps = static_cast<size_t>(weights.shape()[2] * weights.shape()[3]);
  const size_t inner = static_cast<size_t>(weights.elements()) / scales.size();
  Window window(likeness(weights.shape(), dilations), taps);
  Tensor rounded = weights.clone();
  const std::span<f32> all = rounded.mutable_as<f32>();
  for (size_t at = 0; at < all.size(); at += taps)
    window.round(all.subspan(at, taps), scales[at / inner]);
  return rounded;
}

Tensor rounded_weights(const Graph& graph, const Node& conv, WeightCodes& weight_codes) {
  const Tensor& weights = *graph.constant_input(conv, 1);
  const Shape& shape = weights.shape();
  if (!is_op(conv, "Conv") || weights.dtype() != Dtype::f32 || shape.rank() != 4) return weights;
  const auto taps = static_cast<size_t>(shape[2] * shape[3]);
  if (taps < 2 || taps > kMostTaps || weights.elements() == 0) return weights;
  const auto dilations =
      attribute_of<&ConvAttributes::dilations>(conv).value_or(std::vector<s64>{1, 1});
  const std::vector<s64> read = {shape[0], shape[2], shape[3], dilations[0], dilations[1]};
  const Channels channels{shape[0], weights.elements() / shape[0]};
  const WeightScales found = weight_scales(weights, {}, channels, ProductInput{}, weight_codes);
  if (!found.reject.empty()) return weights;
  return weight_codes.rounded(weights, read,
                              [&] { return rounded_windows(weights, found.scales, dilations); });
}

void round_weights(Graph& graph, WeightCodes& weight_codes) {
  for (Node& node : graph.nodes) {
    if (node.decision.precision != Precision::int8 || !is_op(node, "Conv")) continue;
    const Tensor* weights = graph.constant_input(node, 1);
    if (weights == nullptr) continue;
    Tensor rounded = rounded_weights(graph, node, weight_codes);
    if (rounded.data() == weights->data()) continue;
    node.inputs[1] = graph.add_constant(node.name + ".rounded_weights", std::move(rounded));
  }
}

}  // namespace octet
