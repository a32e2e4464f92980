// SPDX-License-Identifier: Apache-2.0
// A part of sink_transposes.cc: a Transpose of rows behind a product goes in front of it.
#pragma once

#include <vector>

#include "graph/graph_edit.h"
#include "passes/pass.h"
#include "passes/row_products.h"

namespace octet {

// Transpose(Reshape(product(Reshape(z)))), whose Reshapes join rows to one axis and part them again, becomes a product of the rows of Transpose(z). Where z
// is a Transpose itself, the two become one (join_moves.cc).
class TransposeRaiser {
 public:
  TransposeRaiser(Graph& graph, const Uses& uses, RowProducts& rows, GraphEdit& edit)
      : graph_(graph), uses_(uses), rows_(rows), edit_(edit) {}

  // Whether node `at`, a Transpose, is the last of such nodes, and was moved.
  bool raise(size_t at, Rewrites& rewrites);

 private:
  struct Found {
    std::vector<s64> perm;
    const Node* joins = nullptr;
    std::vector<Node*> products;  // and a bias, the last first
    const Node* parts = nullptr;
  };

  bool find(const Node& transpose, Found& found);
  bool fits(const Found& found) const;
  void move(const Node& transpose, const Found& found);
  void join_behind(Node& node, ValueId own);
  Node* own_producer(ValueId id);
  const Shape& shape_of(ValueId id) const { return graph_.value(id).type.shape; }

  Graph& graph_;
  const Uses& uses_;
  RowProducts& rows_;
  GraphEdit& edit_;
};

}  // namespace octet
