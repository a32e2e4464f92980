// SPDX-License-Identifier: Apache-2.0
// What passes that are classes work on.
#pragma once

#include "graph/graph_edit.h"
#include "graph/propagate.h"
#include "passes/pass.h"

namespace octet {

class GraphPass {
 public:
  GraphPass(Graph& graph, Rewrites& rewrites)
      : graph_(graph), rewrites_(rewrites), uses_(rewrites.uses(graph)) {}

 protected:
  const Shape& shape_of(ValueId id) const { return graph_.value(id).type.shape; }

  // Asked before so many elements of constants are computed for a node: a file may ask for the same any number of times.
  bool may_fold(s64 elements, const Node& node) const {
    FoldingBudget* budget = rewrites_.folding();
    return budget == nullptr || budget->take(static_cast<f64>(elements), node);
  }

  Graph& graph_;
  Rewrites& rewrites_;
  const Uses& uses_;  // of the graph as the pass found it
};

// One that inserts and erases nodes: the list changes at its end, by edit_.apply().
class EditingPass : protected GraphPass {
 public:
  using GraphPass::GraphPass;

 protected:
  GraphEdit edit_{graph_};
  size_t at_ = 0;  // the node that is looked at
};

}  // namespace octet
