// SPDX-License-Identifier: Apache-2.0
#include "passes/affine.h"

#include "ops/attributes/activation.h"
#include "ops/attributes/window.h"
#include "ops/shared/axes.h"
#include "passes/match.h"

namespace octet {
namespace {

// Groups of output channels, each with so many runs of weights of all its channels: Conv [O, C / group, taps] has one group and one run,
// ConvTranspose [C, O / group, taps] a run for each input channel, a matrix [K, N] one for each row.
struct ChannelOrder {
  size_t channels;  // of a group
  size_t taps;      // neighboring weights of one channel
  size_t group;     // weights of a group

  size_t of(size_t i) const { return i / group * channels + i / taps % channels; }
};

ChannelOrder channel_order(const Node& product, const Shape& w) {
  const auto size = [&](int first) {
    return static_cast<size_t>(dims_product(w, first, w.rank()));
  };
  const size_t all = size(0);
  if (is_op(product, "Conv")) return {static_cast<size_t>(w[0]), size(1), all};
  if (is_op(product, "MatMul")) return {static_cast<size_t>(w[1]), 1, all};
  const size_t groups = static_cast<size_t>(conv_groups(product));
  return {static_cast<size_t>(w[1]), size(2), all / groups};
}

s64 output_channels(const Node& product, const Shape& w) {
  if (is_op(product, "Conv")) return w[0];
  return is_op(product, "MatMul") ? w[1] : w[1] * conv_groups(product);
}

}  // namespace

bool takes_affine(const Graph& graph, const Node& product, size_t channels) {
  const bool rows = is_op(product, "MatMul");
  const bool transposed = is_op(product, "ConvTranspose");
  if (!rows && !transposed && !is_op(product, "Conv")) return false;
  const TensorType& w = graph.value(product.inputs[1]).type;
  if (w.dtype != Dtype::f32 || w.shape.is_unknown() || !w.shape.is_static()) return false;
  if (rows ? w.shape.rank() != 2 : w.shape.rank() < 3) return false;
  return w.shape.elements() > 0 &&
         output_channels(product, w.shape) == static_cast<s64>(channels) &&
         product.input(3) == kNoValue && !has_activation(product);
}

int output_channel_axis(const Graph& graph, const Node& product) {
  return is_op(product, "MatMul") ? graph.value(product.outputs[0]).type.shape.rank() - 1 : 1;
}

Tensor scaled_weights(const Node& product, const Tensor& weights, const Affine& affine) {
  Tensor result = weights.clone();
  const ChannelOrder order = channel_order(product, weights.shape());
  const auto data = result.mutable_as<f32>();
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<f32>(static_cast<f64>(data[i]) * affine.scale[order.of(i)]);
  return result;
}

Tensor folded_bias(const Tensor* bias, const Affine& affine) {
  Tensor result(Dtype::f32, {static_cast<s64>(affine.scale.size())});
  const auto data = result.mutable_as<f32>();
  for (size_t c = 0; c < data.size(); ++c) {
    const f64 before = bias != nullptr ? static_cast<f64>(bias->as<f32>()[c]) : 0.0;
    data[c] = static_cast<f32>(before * affine.scale[c] + affine.shift[c]);
  }
  return result;
}

}  // namespace octet
