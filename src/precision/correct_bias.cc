// SPDX-License-Identifier: Apache-2.0
// Bias correction (docs/adr/0010, docs/numerics.md section 6): the errors of rounded weights do not cancel where the input's mean is not
// zero, as behind every ReLU. What they add to the mean of a channel is known from calibration and comes off its bias.
#include <algorithm>
#include <vector>

#include "ops/attributes/window.h"
#include "ops/quantized/quantize_weights.h"
#include "passes/match.h"
#include "precision/precision.h"
#include "precision/round_weights.h"

namespace octet {
namespace {

// What the codes of `rounded` add to the mean of each output channel of `weights`.
std::vector<f64> mean_shift(const Tensor& weights, const Tensor& rounded,
                            const std::vector<f64>& means, WeightCodes& weight_codes) {
  const auto out = static_cast<size_t>(weights.shape()[0]);
  const auto in_group = static_cast<size_t>(weights.shape()[1]);
  const size_t taps = static_cast<size_t>(weights.shape()[2] * weights.shape()[3]);
  const s64 inner = weights.elements() / weights.shape()[0];
  const size_t groups = means.size() / in_group;
  const QuantizedWeights quantized =
      quantize_weights(rounded, {}, {weights.shape()[0], inner}, ProductInput{}, &weight_codes);
  if (!quantized.reject.empty()) return {};
  const auto codes = quantized.codes.as<s8>();
  const auto w = weights.as<f32>();
  std::vector<f64> shift(out, 0.0);
  for (size_t o = 0, i = 0; o < out; ++o) {
    const size_t first_mean = o / (out / groups) * in_group;
    for (size_t at = 0; at < in_group * taps; ++at, ++i) {
      const f64 error = f64{quantized.scales[o]} * codes[i] - f64{w[i]};
      shift[o] += error * means[first_mean + at / taps];
    }
  }
  return shift;
}

void correct(Graph& graph, Node& conv, const std::vector<f64>& means, WeightCodes& weight_codes) {
  const Tensor weights = *graph.constant_input(conv, 1);
  const auto groups = static_cast<size_t>(conv_groups(conv));
  const bool fits = weights.dtype() == Dtype::f32 && weights.shape().rank() == 4 &&
                    weights.elements() > 0 &&
                    means.size() == groups * static_cast<size_t>(weights.shape()[1]);
  const Tensor* bias = graph.constant_input(conv, 2);
  if (!fits || (conv.input(2) != kNoValue && bias == nullptr)) return;
  const Tensor rounded = rounded_weights(graph, conv, weight_codes);
  const std::vector<f64> shift = mean_shift(weights, rounded, means, weight_codes);
  if (shift.empty()) return;
  Tensor corrected(Dtype::f32, Shape{weights.shape()[0]});
  for (size_t o = 0; o < shift.size(); ++o) {
    const f64 before = bias != nullptr ? f64{bias->as<f32>()[o]} : 0.0;
    corrected.mutable_as<f32>()[o] = static_cast<f32>(before - shift[o]);
  }
  if (conv.inputs.size() < 3) conv.inputs.resize(3, kNoValue);
  conv.inputs[2] = graph.add_constant(conv.name + ".corrected_bias", std::move(corrected));
}

}  // namespace

void correct_biases(Graph& graph, const Ranges& ranges, WeightCodes& weight_codes) {
  for (Node& node : graph.nodes) {
    if (node.decision.precision != Precision::int8 || !is_op(node, "Conv")) continue;
    const auto input = ranges.find(node.inputs[0]);
    if (input == ranges.end() || graph.constant_input(node, 1) == nullptr) continue;
    if (input->second.seen) correct(graph, node, input->second.seen->channel_mean, weight_codes);
  }
}

}  // namespace octet
