// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_edit.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace octet {

void GraphEdit::replace(size_t at, std::vector<Node> nodes) {
  for (Node& node : nodes) insert_before(at, std::move(node));
  erase(at);
}

void GraphEdit::apply() {
  if (insertions_.empty() && erased_.empty()) return;
  std::ranges::stable_sort(insertions_, {}, &Insertion::place);
  std::vector<bool> erased(graph_.nodes.size(), false);
  for (size_t at : erased_) erased[at] = true;
  std::vector<Node> nodes;
  nodes.reserve(graph_.nodes.size() + insertions_.size());
  auto next = insertions_.begin();
  const auto insert_until = [&](size_t place) {
    for (; next != insertions_.end() && next->place <= place; ++next)
      nodes.push_back(std::move(next->node));
  };
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    insert_until(2 * n);
    if (!erased[n]) nodes.push_back(std::move(graph_.nodes[n]));
    insert_until(2 * n + 1);
  }
  insert_until(2 * graph_.nodes.size());  // before the end
  OCTET_CHECK(next == insertions_.end());
  graph_.nodes = std::move(nodes);
  insertions_.clear();
  erased_.clear();
}

Node node_beside(const Node& neighbor, const OpDef* op, std::string name,
                 std::vector<ValueId> inputs) {
  OCTET_CHECK(op != nullptr);
  return {.op = op,
          .name = std::move(name),
          .inputs = std::move(inputs),
          .outputs = {},
          .attrs = {},
          .origins = neighbor.origins,
          .decision = neighbor.decision};
}

void prepend_origins(Node& node, const Node& earlier) {
  node.origins.insert(node.origins.begin(), earlier.origins.begin(), earlier.origins.end());
}

void append_origins(Node& node, const Node& later) {
  node.origins.insert(node.origins.end(), later.origins.begin(), later.origins.end());
}

void replace_fused(Node& at, Node fused, const Node& earlier) {
  fused.outputs = at.outputs;
  fused.origins = earlier.origins;
  append_origins(fused, at);
  at = std::move(fused);
}

}  // namespace octet
