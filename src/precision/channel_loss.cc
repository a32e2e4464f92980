// SPDX-License-Identifier: Apache-2.0
// What one scale for all channels costs a model in a convolution. A channel that is quiet beside a loud one is rounded to nothing; where the
// filters rest on such channels (depthwise above all), no scale of the output brings them back. What is lost counts by how much of the
// model's outputs rests on it: many a network has channels that nobody would miss.
#include <algorithm>
#include <cmath>

#include "ops/attributes/window.h"
#include "passes/match.h"
#include "passes/qdq.h"
#include "precision/precision.h"
#include "precision/relevance.h"

namespace octet {
namespace {

// Rounding noise of every channel of codes; a channel below half a code is lost whole.
std::vector<f64> noise_of(const Range& input) {
  const f64 step = code_type_of(input).params.scale;
  std::vector<f64> noise;
  for (const f64 power : input.seen->channel_power)
    noise.push_back(std::min(step * step / 12, power));
  return noise;
}

}  // namespace

bool is_guarded(const Graph& graph, const Node& node) {
  const Tensor* weights = graph.constant_input(node, 1);
  return is_op(node, "Conv") && weights != nullptr && weights->dtype() == Dtype::f32 &&
         weights->shape().rank() == 4;
}

f64 lost_share(const Graph& graph, const Node& node, const Range& input, const Range& output,
               const std::vector<f64>& relevance) {
  if (!is_guarded(graph, node) || !input.seen || !output.seen) return 0.0;
  // What a channel says is how it changes: filters that take differences leave little of its power.
  const std::vector<f64> variance = variances(output);
  const size_t in = input.seen->channel_power.size(), out = variance.size();
  if (in == 0 || out == 0 || relevance.size() != out) return 0.0;
  const Tensor* weights = graph.constant_input(node, 1);
  const Shape& shape = weights->shape();
  const auto groups = static_cast<size_t>(conv_groups(node));
  const size_t in_group = in / groups, out_group = out / groups;
  if (in_group != static_cast<size_t>(shape[1]) || out != static_cast<size_t>(shape[0])) return 0.0;
  const std::vector<f64> noise = noise_of(input);
  const auto taps = static_cast<size_t>(shape[2] * shape[3]);
  const f32* w = weights->as<f32>().data();
  f64 lost = 0.0;
  for (size_t o = 0; o < out; ++o) {
    f64 error = 0.0;
    for (size_t c = 0; c < in_group; ++c) {
      f64 gain = 0.0;
      for (size_t k = 0; k < taps; ++k, ++w) gain += f64{*w} * f64{*w};
      error += gain * noise[o / out_group * in_group + c];
    }
    // A channel that its activation keeps at zero has nothing to lose.
    if (variance[o] <= 0.0) continue;
    lost += relevance[o] * std::min(1.0, error / variance[o]);
  }
  return lost;
}

}  // namespace octet
