// SPDX-License-Identifier: Apache-2.0
// How much of a model's outputs rests on each channel of each value: what a part of a channel that is lost takes from them.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "precision/precision.h"

namespace octet {

// From the outputs backwards; a layer hands on what it has to those that it is made of, by their part of its power. So the relevance of all
// that the outputs are made of adds up to 1, wherever a model is cut. An estimate: channels count as unrelated.
class Relevance {
 public:
  // Ranges as far as calibration saw the channels of their values; others count as equally strong.
  Relevance(const Graph& graph, const Ranges& ranges);

  // Of each channel of a value [N, C, H, W], else of the whole in one number; nothing where no channels were seen.
  const std::vector<f64>& of(ValueId id) const { return relevance_[id]; }

 private:
  std::vector<std::vector<f64>> relevance_;
};

// The part of a channel that changes: its variance, or nothing where it is not known.
std::vector<f64> variances(const Range& range);

}  // namespace octet
