// SPDX-License-Identifier: Apache-2.0
// Values of 16 bits in a plan for a GPU. A Model rounds by RoundTo, between values of f32; what is rounded and read by kernels that take 16 bits is stored so.
#pragma once

#include <string_view>
#include <vector>

#include "backends/cuda/device/number.h"
#include "graph/graph.h"
#include "plan/offer.h"

namespace octet::cuda {

// A RoundTo all of whose readers take 16 bits becomes Cast to the type and, before each reader, Cast back: the same reals, and chains (chains.def) make one kernel of a reader or a writer and
// its casts.
void store_halves(Graph& graph);

// Of values of f32: from 16 bits, or to them.
bool is_widening(const Graph& graph, const Node& node);
bool is_narrowing(const Graph& graph, const Node& node);
// As it lies in memory: 16 bits, codes, or f32.
Number number_of(Dtype type);
// Of RoundTo, or a Cast to 16 bits: that type.
Number rounding_of(const Graph& graph, const Node& node);
// MatMul of two values that a run brings, and nothing behind it: kernels of 16 bits (families/product_halves, attention_reals) know no activation, bias or residual of such a product.
bool is_product_of_values(const Graph& graph, const Node& node);
// Positions of what a node moves; none where its elements are others, or where it may need what no kernel has of 16 bits.
std::vector<size_t> moved_inputs(const Graph& graph, const Node& node);
// By one node, at one of its inputs, and by no caller: what a chain may hold inside.
bool is_read_once(const Graph& graph, const Uses& uses, ValueId id);
// Of such a chain with one input: the types in memory, that to which reals are rounded before, and which part the node is.
struct HalfEnds {
  Dtype x = Dtype::f32, y = Dtype::f32, rounded = Dtype::f32;
  size_t part = 0;
};
HalfEnds half_ends(const LowerRequest& request);
// Whether a function of single reals, or a product, takes codes that DequantizeLinear and then `round` make reals of 16 bits: products of terms scale sums of codes that become bf16, and depthwise ones round what they read.
bool reads_rounded_codes(const Graph& graph, const Node& product, const Node& round);
// A function of single reals that has a form with casts: families/map/reals.cc.
bool takes_halves(const Graph& graph, const Node& node);

}  // namespace octet::cuda
