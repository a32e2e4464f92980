// SPDX-License-Identifier: Apache-2.0
// The names by which users keep nodes in f32.
#include <algorithm>
#include <functional>
#include <set>

#include "core/check.h"
#include "graph/op_traits.h"
#include "octet/closest.h"
#include "precision/precision.h"

namespace octet {
namespace {

// Of the nodes in bodies, too.
bool any_node(const Graph& graph, const std::function<bool(const Node&)>& is_it) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (is_it(node)) return true;
    const auto bodies = node.op->traits->bodies;
    return std::ranges::any_of(bodies, [&](std::string_view name) {
      return node.attrs.has(name) && any_node(*node.attrs.graph(name), is_it);
    });
  });
}

std::vector<std::string> names_of(const Graph& graph) {
  std::set<std::string> names;
  any_node(graph, [&](const Node& node) {
    names.emplace(node.name);
    names.emplace(node.op->name);
    names.insert(node.origins.begin(), node.origins.end());
    return false;
  });
  return {names.begin(), names.end()};
}

}  // namespace

bool is_called(const Node& node, std::string_view name) {
  return name == node.name || name == node.op->name ||
         std::ranges::find(node.origins, name) != node.origins.end();
}

void check_kept_names(const Graph& graph, std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (any_node(graph, [&](const Node& node) { return is_called(node, name); })) continue;
    fail_about("PrecisionPlan.keep_float", Error::Code::invalid_argument,
               "'{}', to be kept in f32, matches no node name and no operator{}", name,
               did_you_mean(name, names_of(graph)));
  }
}

}  // namespace octet
