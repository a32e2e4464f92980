// SPDX-License-Identifier: Apache-2.0
// Which combination a node of a plugin takes: the cheapest, conversions counted, of those that its surroundings allow.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "plugin/plugin_op.h"

namespace octet {

// What the planner knows of a tensor around a node before it chooses.
struct PortSurroundings {
  bool can_be_codes =
      false;  // there is a range, or the tensor is a constant of reals, or codes come anyway
  bool prefers_codes = false;  // its producer gives, or its reader takes, codes
};

struct PluginSurroundings {
  std::vector<PortSurroundings> inputs, outputs;  // one for each tensor
  bool must_be_codes = false;                     // reals are no choice
};

struct PluginChoice {
  const PluginCombination* combination = nullptr;  // of codes; null: reals
  std::string why;
};

PluginChoice choose_combination(const Graph& graph, const Node& node,
                                const PluginSurroundings& around);

// What was chosen for a node of reals is remembered in it until the node of codes is made.
void remember_choice(Node& node, const PluginCombination& combination);
void forget_choice(Node& node);
const PluginCombination* remembered_choice(const Node& node);  // null: none, or reals

// Whether the tensor is, or before a choice could be, read or written as codes by a node that is not yet one on codes.
bool plugin_reads_codes(const Node& node, size_t input);
bool plugin_writes_codes(const Node& node, size_t output);

}  // namespace octet
