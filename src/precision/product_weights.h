// SPDX-License-Identifier: Apache-2.0
// The weights of a convolution by the channels that they join, for [O, I / group, kh, kw] (Conv) and [I, O / group, kh, kw] (ConvTranspose).
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace octet {

// Of f16.
inline constexpr f32 kMostOfHalf = 65504;

// Which channels a weight joins.
class WeightChannels {
 public:
  WeightChannels(const Node& product, const Shape& weights);

  size_t inputs() const { return groups_ * group_inputs_; }
  size_t outputs() const { return groups_ * group_outputs_; }
  size_t inputs_of_group() const { return group_inputs_; }
  size_t taps() const { return taps_; }
  // The first of the neighboring weights from the i-th input of its group to an output.
  size_t at(size_t output, size_t i) const;
  size_t input_of(size_t output, size_t i) const {
    return output / group_outputs_ * group_inputs_ + i;
  }

 private:
  bool transposed_;
  size_t groups_, group_inputs_, group_outputs_, taps_;
};

// What rounding of weights and inputs depends on. Of a node for which separates_channels() holds.
class ProductWeights {
 public:
  ProductWeights(const Graph& graph, const Node& product);

  size_t inputs() const { return channels_.inputs(); }
  size_t outputs() const { return channels_.outputs(); }
  size_t inputs_of_group() const { return channels_.inputs_of_group(); }
  size_t input_of(size_t output, size_t i) const { return channels_.input_of(output, i); }
  f64 taps() const { return static_cast<f64>(channels_.taps()); }
  // Of the weights from the i-th input of its group to an output.
  f64 squares(size_t output, size_t i) const { return squares_[output * inputs_of_group() + i]; }
  f64 largest(size_t output, size_t i) const { return largest_[output * inputs_of_group() + i]; }

  // The most halvings of the weights behind an input, and doublings of those before an output and of its bias, by which all of them stay
  // normal numbers or zero; and numbers of f16 where they are: none grows beyond its largest, and the widest weight of each output stays
  // one of its normal numbers, so that what smaller ones lose below these is no more than the widest is rounded by.
  int shrinks_by(size_t input) const;
  int grows_by(size_t output) const;

  // What the outputs' power would be if inputs had this power and were unrelated.
  std::vector<f64> power_of(const std::vector<f64>& input) const;

 private:
  void note_row(size_t output, f32 widest);

  WeightChannels channels_;
  std::vector<f64> squares_, largest_;
  std::vector<f32> least_of_input_, most_of_output_;  // magnitudes: the least that is not 0
  std::vector<f32> least_row_of_input_;  // the least of the widest weights of outputs that read it
};

// Multiplies each weight by 2^(after - before) and the bias by 2^after; the node gets constants of its own.
using ExponentOf = std::function<int(size_t channel)>;
void scale_product(Graph& graph, Node& product, const ExponentOf& before, const ExponentOf& after);

}  // namespace octet
