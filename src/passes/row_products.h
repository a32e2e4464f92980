// SPDX-License-Identifier: Apache-2.0
// Products by constant weights, which treat the rows of their left side each by itself, and Transposes that exchange whole rows: what moving the one across
// the other asks of a graph (sink_transposes.cc, raise_transpose.cc).
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace octet {

class RowProducts {
 public:
  RowProducts(const Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {}

  // The node that reads a value, beside those that ask its sizes alone; null where there are more, or it is an output of the graph.
  const Node* reader_of(ValueId id);
  // MatMul by constant weights, with a constant bias or none.
  bool is_product(const Node& node) const;
  // Add of a constant for all rows alike.
  bool is_bias(const Node& node) const;
  // Which input of either is not the constant.
  size_t data_input(const Node& node) const { return graph_.is_constant(node.inputs[0]) ? 1 : 0; }

 private:
  const Node* only_reader(ValueId id) const;

  const Graph& graph_;
  const Uses& uses_;
  std::unordered_map<ValueId, const Node*> readers_;  // that were asked for
};

// The permutation of a Transpose that keeps the elements of each row together.
std::optional<std::vector<s64>> row_permutation(const Node& node);
// The same rows in the same order: the first `axes` dimensions are equal, at most one of them is unknown.
bool same_first_axes(const Shape& a, const Shape& b, int axes);
// Of the dimensions from `first` on; 0 where one is not known.
s64 product_from(const Shape& shape, int first);
// For a Reshape that keeps the first axes and then has those of `shape`.
ValueId add_sizes(Graph& graph, const Node& node, int kept, const Shape& shape);
// A node named after `node`, with its origins.
Node node_named_after(const Node& node, std::string_view op, std::string_view what,
                      std::vector<ValueId> inputs);

}  // namespace octet
