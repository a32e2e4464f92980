// SPDX-License-Identifier: Apache-2.0
#include "precision/product_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "ops/attributes/window.h"
#include "passes/match.h"

namespace octet {
namespace {

enum : size_t { kWeightsInput = 1, kBiasInput = 2 };

constexpr int kLowestExponent = -126;  // of a normal number
constexpr int kHighestExponent = 100;  // sums of products stay far from infinity
constexpr int kLowestOfHalf = -14;
constexpr int kNoLimit = 127;

}  // namespace

WeightChannels::WeightChannels(const Node& product, const Shape& weights)
    : transposed_(is_op(product, "ConvTranspose")),
      groups_(static_cast<size_t>(conv_groups(product))),
      group_inputs_(static_cast<size_t>(weights[1])),
      group_outputs_(static_cast<size_t>(weights[0]) / groups_),
      taps_(static_cast<size_t>(weights[2] * weights[3])) {
  if (transposed_) std::swap(group_inputs_, group_outputs_);
}

size_t WeightChannels::at(size_t output, size_t i) const {
  if (!transposed_) return (output * group_inputs_ + i) * taps_;
  const size_t own = output % group_outputs_;
  return (input_of(output, i) * group_outputs_ + own) * taps_;
}

ProductWeights::ProductWeights(const Graph& graph, const Node& product)
    : channels_(product, graph.constant_input(product, kWeightsInput)->shape()),
      squares_(outputs() * inputs_of_group()),
      largest_(squares_.size()),
      least_of_input_(inputs(), std::numeric_limits<f32>::infinity()),
      most_of_output_(outputs()),
      least_row_of_input_(inputs(), std::numeric_limits<f32>::infinity()) {
  const auto weights = graph.constant_input(product, kWeightsInput)->as<f32>();
  const Tensor* bias = graph.constant_input(product, kBiasInput);
  for (size_t o = 0; o < outputs(); ++o) {
    f32 widest = 0;
    for (size_t i = 0; i < inputs_of_group(); ++i) {
      f64 squares = 0;
      f32 largest = 0, least = std::numeric_limits<f32>::infinity();
      for (const f32 w : weights.subspan(channels_.at(o, i), channels_.taps())) {
        const f32 size = std::fabs(w);
        squares += f64{w} * f64{w};
        largest = std::max(largest, size);
        least = size > 0.0f ? std::min(least, size) : least;
      }
      squares_[o * inputs_of_group() + i] = squares;
      largest_[o * inputs_of_group() + i] = f64{largest};
      f32& of_input = least_of_input_[input_of(o, i)];
      of_input = std::min(of_input, least);
      widest = std::max(widest, largest);
    }
    note_row(o, widest);
    most_of_output_[o] = std::max(widest, bias == nullptr ? 0.0f : std::fabs(bias->as<f32>()[o]));
  }
}

// Rows that f16 does not hold as it is bound nothing.
void ProductWeights::note_row(size_t output, f32 widest) {
  if (!(widest > 0.0f) || std::ilogb(widest) < kLowestOfHalf) return;
  for (size_t i = 0; i < inputs_of_group(); ++i) {
    if (largest(output, i) == 0) continue;
    f32& least = least_row_of_input_[input_of(output, i)];
    least = std::min(least, widest);
  }
}

// What is no normal number is not halved.
int ProductWeights::shrinks_by(size_t input) const {
  const f32 least = least_of_input_[input], row = least_row_of_input_[input];
  if (std::isinf(least)) return kNoLimit;
  if (!std::isnormal(least)) return 0;
  const int by = std::ilogb(least) - kLowestExponent;
  return std::isfinite(row) ? std::min(by, std::ilogb(row) - kLowestOfHalf) : by;
}

int ProductWeights::grows_by(size_t output) const {
  const f32 most = most_of_output_[output];
  if (!std::isfinite(most)) return 0;
  if (most > 0.0f && most <= kMostOfHalf) return std::ilogb(f64{kMostOfHalf} / f64{most});
  return most > 0.0f ? std::max(0, kHighestExponent - std::ilogb(most)) : kNoLimit;
}

std::vector<f64> ProductWeights::power_of(const std::vector<f64>& input) const {
  std::vector<f64> power(outputs());
  for (size_t o = 0; o < outputs(); ++o) {
    for (size_t i = 0; i < inputs_of_group(); ++i)
      power[o] += squares(o, i) * input[input_of(o, i)];
  }
  return power;
}

void scale_product(Graph& graph, Node& product, const ExponentOf& before, const ExponentOf& after) {
  const Tensor weights = *graph.constant_input(product, kWeightsInput);
  const WeightChannels channels(product, weights.shape());
  Tensor scaled(Dtype::f32, weights.shape());
  for (size_t o = 0; o < channels.outputs(); ++o) {
    for (size_t i = 0; i < channels.inputs_of_group(); ++i) {
      const int exponent = after(o) - before(channels.input_of(o, i));
      for (size_t w = channels.at(o, i); w < channels.at(o, i) + channels.taps(); ++w)
        scaled.mutable_as<f32>()[w] = std::ldexp(weights.as<f32>()[w], exponent);
    }
  }
  product.inputs[kWeightsInput] =
      graph.add_constant(product.name + ".equalized_weights", std::move(scaled));
  // One that a run gives fixes the result: it stays what it is.
  const Tensor* given = graph.constant_input(product, kBiasInput);
  if (given == nullptr) return;
  const std::span<const f32> values = given->as<f32>();
  Tensor bias(Dtype::f32, Shape{static_cast<s64>(channels.outputs())});
  for (size_t o = 0; o < channels.outputs(); ++o)
    bias.mutable_as<f32>()[o] = std::ldexp(values[o], after(o));
  product.inputs[kBiasInput] =
      graph.add_constant(product.name + ".equalized_bias", std::move(bias));
}

}  // namespace octet
