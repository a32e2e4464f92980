// SPDX-License-Identifier: Apache-2.0
// Layers of 16-bit floats (docs/numerics.md section 7): what they read and give is rounded to the type, between RoundTo nodes.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "precision/constraints.h"

namespace octet {

// What the layers that compute on reals are to be.
struct HalfPlan {
  Precision type = Precision::none;  // of those that nothing else is said about: f16, bf16, or none
  bool products_only = false;        // and only of matrix products and convolutions
  // What is asked of a layer by the names of its ONNX nodes.
  std::unordered_map<std::string, LayerRequest> asked = {};
  // Of layers that the type would harm: another type, and why. By the names of their ONNX nodes.
  std::unordered_map<std::string, Decision> instead = {};

  bool empty() const;
};

// The layers' requests by the names of the nodes in them.
std::unordered_map<std::string, LayerRequest> requests_by_node(
    const Graph& graph, std::span<const LayerRequest> requests);

// Of the finished graph. Layers that cannot be of the type stay f32.
void narrow_layers(Graph& graph, const HalfPlan& plan);

// Of RoundTo nodes: whether it rounds a layer's own result, and not what one of its readers reads.
bool rounds_own_result(const Node& round);

// Each element at the nearest value of the type, f16 or bf16; finite ones stay finite.
Tensor rounded_to(const Tensor& real, Precision type);

// The graph with weights moved by powers of two between layers, where what lies between them lets them pass, so that fewer of them are
// lost in f16. Results are the same to the bit, but for what overflows or underflows in f32.
Graph rescaled_for_halves(Graph graph, std::span<const size_t> layers);

}  // namespace octet
