// SPDX-License-Identifier: Apache-2.0
// What passes that are classes work on.
#pragma once

#include "passes/pass.h"

namespace octet {

class GraphPass {
 public:
  GraphPass(Graph& graph, Rewrites& rewrites)
      : graph_(graph), rewrites_(rewrites), uses_(rewrites.uses(graph)) {}

 protected:
  Graph& graph_;
  Rewrites& rewrites_;
  const Uses& uses_;  // of the graph as the pass found it
};

}  // namespace octet
