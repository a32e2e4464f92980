// SPDX-License-Identifier: Apache-2.0
// Which channels of which values could be multiplied by one positive number, so that the model stays what it is: the number goes into the
// weights before them, and its inverse into the weights behind them.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace octet {

// Channels are those of values [N, C, H, W] of reals. They fall into classes: two channels are of one class where an operator between them
// is homogeneous (Relu, pools, resizing) or adds them up. Products by constant weights separate classes. A class is fixed where one of
// its channels meets anything else: another function, an input or an output of the model.
class ChannelClasses {
 public:
  explicit ChannelClasses(const Graph& graph);

  // The channels of a value: 0 where they have no classes.
  size_t channels(ValueId id) const { return id == kNoValue ? 0 : counts_[id]; }
  // The number of a channel's class, below count().
  size_t class_of(ValueId id, size_t channel) const { return classes_[first_[id] + channel]; }
  bool is_fixed(size_t class_number) const { return fixed_[class_number]; }
  size_t count() const { return fixed_.size(); }

 private:
  std::vector<size_t> first_, counts_;  // of each value, in classes_
  std::vector<size_t> classes_;         // of each channel
  std::vector<bool> fixed_;             // each class
};

// A convolution of constant f32 weights with two spatial axes: its output channels and its input channels are of different classes.
bool separates_channels(const Graph& graph, const Node& node);

}  // namespace octet
