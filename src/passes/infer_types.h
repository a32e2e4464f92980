// SPDX-License-Identifier: Apache-2.0
// Types of all values of a graph with dynamic inputs, by sampling (docs/adr/0007): concrete inference runs for two sets
// of sizes; dimensions and small values that agree in both are static, the others are dynamic. Dynamic dimensions carry
// negative numbers: only those of one number are equal whatever the sizes are, so shapes may be compared by ==.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/propagate.h"

namespace octet {

struct SampledTypes {
  Propagated first;
  Propagated second;
  // Under sizes that are far from those, one at most, none where the model refuses them: 8 and 9 have one half, and no hop of a spectrogram in either.
  // What weights are made of may be unknown here.
  std::vector<Propagated> far = {};
};

// Sets the type of every value. Where the model works only for a batch of 1, or for images of one size, the inputs' dynamic sizes become these.
// Throws Error, naming the sizes that were tried first, where it works for none.
SampledTypes infer_types(Graph& graph, const PropagateOptions& options = {});

// A graph as it was imported, to say afterwards which of the sizes that it leaves open infer_types() has settled, and what refused others.
class OpenSizes {
 public:
  explicit OpenSizes(const Graph& imported);
  // For the user; empty where all are as open as they were.
  std::string settled(const Graph& graph) const;

 private:
  std::string refusal() const;

  std::optional<Graph> imported_;  // where it leaves any open
};

// All dynamic dimensions become Shape::kDynamic, which is what callers of an engine know.
void forget_size_numbers(Graph& graph);

}  // namespace octet
