// SPDX-License-Identifier: Apache-2.0
// Changes of a graph's list of nodes, collected while a pass walks it and made at once; and what a new node takes over from
// those that it stands beside or replaces.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace octet {

// Indices are those of the list as it was when the edit began. Until apply() the list keeps its length and its order, so Uses
// stay valid, and nodes may be changed in place.
class GraphEdit {
 public:
  explicit GraphEdit(Graph& graph) : graph_(graph) {}

  // Nodes for one place keep the order in which they were given.
  void insert_before(size_t at, Node node) { insertions_.push_back({2 * at, std::move(node)}); }
  void insert_after(size_t at, Node node) { insertions_.push_back({2 * at + 1, std::move(node)}); }
  void insert_first(Node node) { insert_before(0, std::move(node)); }
  void erase(size_t at) { erased_.push_back(at); }
  void replace(size_t at, std::vector<Node> nodes);

  // Linear in the list. The edit is empty afterwards.
  void apply();

 private:
  struct Insertion {
    size_t place;  // 2 * index for before, one more for after
    Node node;
  };
  Graph& graph_;
  std::vector<Insertion> insertions_;
  std::vector<size_t> erased_;
};

// A node that does a part of what `neighbor` stands for: it has the same origins and the same decision. Without outputs.
Node node_beside(const Node& neighbor, const OpDef* op, std::string name,
                 std::vector<ValueId> inputs);

// `node` stands for the ONNX nodes of `earlier`, which come before its own, or of `later`.
void prepend_origins(Node& node, const Node& earlier);
void append_origins(Node& node, const Node& later);

// Puts `fused` in the place of `at`: it produces what `at` produced and stands for the ONNX nodes of `earlier` and `at`.
// `earlier` (from which `fused` was made) loses its readers and dies. Using the later place keeps topological order.
void replace_fused(Node& at, Node fused, const Node& earlier);

}  // namespace octet
