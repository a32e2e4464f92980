// SPDX-License-Identifier: Apache-2.0
// BatchNormalization after a convolution: the scale goes into the weights, the shift into the bias.
#include <cmath>

#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

struct Affine {
  std::vector<f64> scale;  // per channel
  std::vector<f64> shift;
};

bool read_affine(const Graph& graph, const Node& norm, Affine& affine) {
  const Tensor* parts[4];
  for (size_t i = 0; i < 4; ++i) {
    parts[i] = graph.constant_input(norm, i + 1);
    if (parts[i] == nullptr || parts[i]->dtype() != Dtype::f32) return false;
    if (parts[i]->elements() != parts[0]->elements()) return false;
  }
  const auto scale = parts[0]->as<f32>(), bias = parts[1]->as<f32>(), mean = parts[2]->as<f32>(),
             var = parts[3]->as<f32>();
  const f64 epsilon = static_cast<f64>(norm.attrs.f("epsilon", 1e-5f));
  for (size_t c = 0; c < scale.size(); ++c) {
    const f64 factor = static_cast<f64>(scale[c]) / std::sqrt(static_cast<f64>(var[c]) + epsilon);
    affine.scale.push_back(factor);
    affine.shift.push_back(static_cast<f64>(bias[c]) - static_cast<f64>(mean[c]) * factor);
  }
  return true;
}

// w is (O, I/g, ...): output channel first.
Tensor scaled_weights(const Tensor& w, const Affine& affine) {
  Tensor result = w.clone();
  auto data = result.mutable_as<f32>();
  const size_t row = data.size() / affine.scale.size();
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<f32>(static_cast<f64>(data[i]) * affine.scale[i / row]);
  }
  return result;
}

Tensor folded_bias(const Tensor* bias, const Affine& affine) {
  Tensor result(Dtype::f32, {static_cast<s64>(affine.scale.size())});
  auto data = result.mutable_as<f32>();
  for (size_t c = 0; c < data.size(); ++c) {
    const f64 before = bias != nullptr ? static_cast<f64>(bias->as<f32>()[c]) : 0.0;
    data[c] = static_cast<f32>(before * affine.scale[c] + affine.shift[c]);
  }
  return result;
}

bool foldable_conv(const Graph& graph, const Node& conv, size_t channels) {
  const Tensor* w = graph.constant_input(conv, 1);
  const bool weights = w != nullptr && w->dtype() == Dtype::f32 && w->shape().rank() >= 3 &&
                       w->shape()[0] == static_cast<s64>(channels);
  const Tensor* bias = graph.constant_input(conv, 2);
  const bool bias_fits = conv.input(2) == kNoValue ||
                         (bias != nullptr && bias->elements() == static_cast<s64>(channels));
  return weights && bias_fits && conv.input(3) == kNoValue &&
         conv.attrs.s("activation", "").empty();
}

}  // namespace

void fold_batchnorm(Graph& graph, Rewrites& rewrites) {
  const Uses uses(graph);
  for (Node& norm : graph.nodes) {
    if (!is_op(norm, "BatchNormalization")) continue;
    const Node* conv = producer_of(graph, uses, norm.inputs[0]);
    if (conv == nullptr || !is_op(*conv, "Conv")) continue;
    if (only_reader(graph, uses, norm.inputs[0]) == nullptr) continue;
    Affine affine;
    if (!read_affine(graph, norm, affine) || !foldable_conv(graph, *conv, affine.scale.size()))
      continue;
    if (!rewrites.allow()) return;
    Node fused = *conv;
    fused.inputs.resize(3, kNoValue);
    const std::string name = graph.value(conv->inputs[1]).name;
    const Tensor bias = folded_bias(graph.constant_input(*conv, 2), affine);
    fused.inputs[1] = graph.add_constant(name + ".folded",
                                         scaled_weights(*graph.constant_input(*conv, 1), affine));
    fused.inputs[2] = graph.add_constant(name + ".folded_bias", bias);
    replace_fused(norm, std::move(fused), *conv);
  }
}

}  // namespace octet
