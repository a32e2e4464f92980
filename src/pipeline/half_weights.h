// SPDX-License-Identifier: Apache-2.0
// Weights that f16 does not hold: counted, their effect measured on data, and remedied.
#pragma once

#include <vector>

#include "octet/half_weights.h"
#include "pipeline/float_model.h"
#include "precision/halves.h"

namespace octet {

// Layers by their place in the float graph, of which the build makes f16.
std::vector<size_t> f16_layers(const Graph& graph, const PrecisionPlan& plan,
                               const Requests& requests);

// Of each tensor of weights of these layers that has such elements, in the order of the graph.
std::vector<HalfWeights> examine_halves(const Graph& graph, std::span<const size_t> layers);

// In the words that users of TensorRT search for; "weights" are tensors.
std::vector<std::string> affected_lines(std::span<const HalfWeights> found);

// Fills HalfWeights::error by running the graph on some of the samples.
void measure_halves(const Graph& graph, const CalibrationOptions& data, const StageOptions& stage,
                    std::vector<HalfWeights>& found);

// What was done about `found`: those that `rest` has no longer were rescaled.
void note_remedies(std::span<const HalfWeights> rest, std::vector<HalfWeights>& found);

// Which layers are better in another type than f16, and says so in `found`. Who asks for f16 gets it.
std::unordered_map<std::string, Decision> types_instead(const Graph& graph,
                                                        const Requests& requests,
                                                        std::vector<HalfWeights>& found);

}  // namespace octet
