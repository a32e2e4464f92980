// SPDX-License-Identifier: Apache-2.0
// Chains: nodes that one kernel of a device runs together, so that what passes between them never reaches memory. A plan's graph has
// one node for each (docs/adr/0022-chains.md); Models have none, and the bits are those of the parts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "plan/offer.h"

namespace octet {

struct Backend;

// What a backend knows of one kind of chain.
struct ChainRule {
  std::string_view name;
  // Indices, ascending, of the nodes of a chain that ends with node `last`; empty where there is none. It is asked for every node.
  // A chain has one output, that of its last node, unless the rule keeps another; chains whose other values are read elsewhere, or more than once unless the rule knows of it, are not taken.
  std::vector<u32> (*find)(const Graph&, const Uses&, u32 last);
  // Asked for the node that stands for the chain; its inputs are the activations that come from outside. Whether it accepts
  // depends on no layout, since the chain is decided on before its producers are placed.
  Offer (*offer)(const LowerRequest&);
  bool forks = false;  // several of its nodes may read one of its values
  // One of its values is read by nodes behind the last one, too: it is the chain's second output. Without one the chain is not taken.
  bool keeps = false;
};

bool is_chain(const Node& node);
// The name of the rule that found it.
std::string chain_kind(const Node& chain);
// Its nodes, in order; constants are the body's own, its inputs those of the node.
const Graph& chain_body(const Node& chain);
// Which of the chain's inputs a value of the body is, if it is one.
std::optional<size_t> chain_input(const Node& chain, ValueId value);
// The rule that found it, or null.
const ChainRule* rule_of(const Node& chain, const Backend& backend);

// What a lowering would be asked for one node of the body alone. Its graph and node live as long as the chain's node.
LowerRequest part_request(const LowerRequest& chain, size_t part);

// Of the output of a node that no chain took, though one was found: "chain: reason".
using ChainRejects = std::map<ValueId, std::vector<std::string>>;

// Puts a chain into the place of its parts where the target's device has a kernel for it whose estimate is less than the sum of theirs.
ChainRejects join_chains(Graph& graph, const Target& target);

}  // namespace octet
