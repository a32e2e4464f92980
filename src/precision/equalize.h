// SPDX-License-Identifier: Apache-2.0
// Cross-layer equalization (docs/adr/0030): channels that are quiet beside a loud one of their tensor are multiplied by powers of two, in the
// weights before them, and divided in the weights behind them. The real model computes the same bits; the codes of quiet channels get more of
// the scale that all channels share.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/types.h"
#include "graph/graph.h"

namespace octet {

// Of each channel of a value: it is multiplied by 2^exponent. Values that are missing stay what they are.
using ChannelExponents = std::unordered_map<ValueId, std::vector<s8>>;

// What calibration saw of a value's channels.
struct ChannelFacts {
  std::vector<f64> power;     // mean squares
  std::vector<f64> min, max;  // smallest and largest value
};

// The exponents that cost least: the sum of what rounding of codes and of weights takes from the layers that read each tensor. No tensor
// becomes wider than it is. Channels of `fixed` stay as they are. The same by any number of threads.
ChannelExponents choose_exponents(const Graph& graph,
                                  const std::unordered_map<ValueId, ChannelFacts>& seen,
                                  const std::unordered_set<ValueId>& fixed, int threads = 1);

// What is known of some values' exponents, for all values: channels of one class share one. `misfit` gets a sentence where they cannot be those
// of this graph: classes have two, fixed ones any, or a weight would leave the normal numbers.
ChannelExponents completed_exponents(const Graph& graph, const ChannelExponents& known,
                                     std::string& misfit);

// Without those of the classes that these values have a channel of.
ChannelExponents without_exponents(const Graph& graph, const ChannelExponents& exponents,
                                   const std::unordered_set<ValueId>& ids);

// Multiplies the weights. Values keep their names, and stand for other numbers than the network's.
void apply_exponents(Graph& graph, const ChannelExponents& exponents);

}  // namespace octet
