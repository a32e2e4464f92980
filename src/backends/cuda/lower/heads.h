// SPDX-License-Identifier: Apache-2.0
// Attention in a graph, of codes or of reals: where the heads of its operands lie, and what is added to its scores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/lower/code_reals.h"
#include "ops/shared/matmul_views.h"
#include "ops/shared/strided.h"
#include "plan/offer.h"

namespace octet::cuda {

// Elements from one index to the next: of the axes of the batch, and what the mask has of a row and a key.
struct ScoreMask {
  bool exists = false;
  Tensor constant;
  size_t input = 0;  // of the chain, where it is no constant
  std::vector<s64> batch;
  s64 row = 0, key = 0;
};

// What a product reads: an input of the chain, as moves inside of it turn it.
struct HeadOperand {
  size_t input = 0;
  StridedView view;
};

// Between reals of one value: RoundTo, or a Cast from 16 bits or to them.
bool is_rounding(const Graph& graph, const Node& node);
// By one constant number: Mul, or Div by it. Its factor, where it is finite; else nothing.
std::optional<f64> factor_of(const Graph& graph, const Node& node);
// What such a node, or one that moves, makes its result of.
ValueId data_of(const Graph& graph, const Node& node);

// Whether a node gives matrices other axes of the batch, and does nothing else.
bool keeps_matrices(const Graph& graph, const Node& node);
// Behind products of the chain it is none of its inputs, and lies as it is. Nothing: it is no view of an input. With `as_split` axes of the batch stay as they
// were before such nodes: heads that lie apart can be joined to one axis only by a copy.
std::optional<HeadOperand> operand_of(const LowerRequest& chain, ValueId id, bool as_split = false);
// Whether the scores of all heads lie one after another: strides of the batch, a query and a key.
bool is_dense(const MatMulGeometry& g, const std::vector<s64>& batch, s64 query, s64 key);
// How a mask of this shape goes over scores of the whole one.
void set_mask_strides(const Shape& shape, const Shape& whole, ScoreMask& mask);
// Of the sum of scores (input `scores` of the request) and a mask; mask.input is left to the caller. Empty, or why no kernel takes it.
std::string read_mask(const LowerRequest& sum, size_t scores, const MatMulGeometry& g,
                      ScoreMask& mask);

}  // namespace octet::cuda
