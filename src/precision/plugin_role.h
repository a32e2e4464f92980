// SPDX-License-Identifier: Apache-2.0
// Plugins' operators among the others: which of their tensors could be codes, and the choice of a combination.
#pragma once

#include <functional>

#include "graph/graph.h"
#include "precision/precision.h"

namespace octet {

// A node of reals of a plugin that has combinations of codes, and does more than move elements.
bool is_choosing_plugin(const Node& node);

// What the choice asks about.
struct PluginChooser {
  const Graph& graph;
  const Uses& uses;
  const Ranges& ranges;
  std::function<bool(s32 node)> is_int8;  // by index, -1 for none
  bool must_be_codes = false;             // asked for by a constraint
};

// Chooses the combination and remembers it in the node; the decision says which and why.
Decision choose_for_plugin(const PluginChooser& chooser, Node& node);

}  // namespace octet
