// SPDX-License-Identifier: Apache-2.0
// The graphs that a node runs: those of its attributes that its operator names (OpTraits::bodies).
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "graph/op_traits.h"

namespace octet {

struct NamedBody {
  std::string_view name;  // of the attribute
  GraphPtr graph;
};

// In the operator's order; an operator may be without some.
inline std::vector<NamedBody> bodies_of(const Node& node) {
  std::vector<NamedBody> bodies;
  for (const std::string_view name : node.op->traits->bodies) {
    if (node.attrs.has(name)) bodies.push_back({name, node.attrs.graph(name)});
  }
  return bodies;
}

// The body of that name; null where the node is without.
inline GraphPtr find_body(const Node& node, std::string_view name) {
  return node.attrs.has(name) ? node.attrs.graph(name) : GraphPtr();
}
inline void set_body(Node& node, std::string_view name, GraphPtr body) {
  node.attrs.set(name, std::move(body));
}

}  // namespace octet
