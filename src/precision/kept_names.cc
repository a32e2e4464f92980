// SPDX-License-Identifier: Apache-2.0
// The names by which users keep nodes in f32.
#include <algorithm>
#include <functional>
#include <set>

#include "core/check.h"
#include "graph/bodies.h"
#include "graph/op_traits.h"
#include "octet/closest.h"
#include "precision/precision.h"

namespace octet {
namespace {

// Of the nodes in bodies, too.
bool any_node(const Graph& graph, const std::function<bool(const Node&)>& is_it) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (is_it(node)) return true;
    return std::ranges::any_of(bodies_of(node),
                               [&](const NamedBody& body) { return any_node(*body.graph, is_it); });
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

std::unordered_set<std::string_view> node_names(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  any_node(graph, [&](const Node& node) {
    names.insert(node.name);
    names.insert(node.origins.begin(), node.origins.end());
    return false;
  });
  return names;
}

KeptNames::KeptNames(const Graph& graph, std::span<const std::string> names) {
  if (names.empty()) return;
  const std::unordered_set<std::string_view> nodes = node_names(graph);
  for (const std::string& name : names) (nodes.contains(name) ? nodes_ : operators_).insert(name);
}

const std::string* KeptNames::keeper_of(const Node& node) const {
  const auto in = [](const std::unordered_set<std::string>& names, std::string_view name) {
    const auto at = names.find(std::string(name));
    return at == names.end() ? nullptr : &*at;
  };
  if (nodes_.empty() && operators_.empty()) return nullptr;
  if (const std::string* name = in(operators_, node.op->name)) return name;
  if (const std::string* name = in(nodes_, node.name)) return name;
  for (const std::string& origin : node.origins) {
    if (const std::string* name = in(nodes_, origin)) return name;
  }
  return nullptr;
}

void check_kept_names(const Graph& graph, std::span<const std::string> names) {
  for (const std::string& name : names) {
    const auto is_meant = [&](const Node& node) {
      return name == node.name || name == node.op->name ||
             std::ranges::find(node.origins, name) != node.origins.end();
    };
    if (any_node(graph, is_meant)) continue;
    fail_about("PrecisionPlan.keep_float", Error::Code::invalid_argument,
               "'{}', to be kept in f32, matches no node name and no operator{}", name,
               did_you_mean(name, names_of(graph)));
  }
}

}  // namespace octet
