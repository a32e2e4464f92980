// SPDX-License-Identifier: Apache-2.0
// What passes share that put several nodes in the place of one. A pass derives its rewriter and says which nodes it can write out, and how.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/graph_edit.h"
#include "passes/pass.h"

namespace octet {

class NodeRewriter {
 public:
  // Of the nodes of one operator.
  NodeRewriter(Graph& graph, Rewrites& rewrites, std::string_view op)
      : graph_(graph), rewrites_(rewrites), op_(op), edit_(graph) {}
  NodeRewriter(const NodeRewriter&) = delete;
  NodeRewriter& operator=(const NodeRewriter&) = delete;
  virtual ~NodeRewriter() = default;

  // Writes out all that read() accepts, in the order of the list, and infers the types of what is new.
  void run();

 protected:
  // Whether node() can be written out; write() may follow.
  virtual bool read() = 0;
  // Adds the nodes that do what node() does; the last one takes over its name and its first output.
  virtual void write() = 0;

  const Node& node() const { return graph_.nodes[at_]; }

  // The result of a new node, called after node().
  ValueId add(std::string_view op, std::vector<ValueId> inputs, const Attrs& attrs = {});
  // The same, or a constant where all of its inputs are.
  ValueId add_or_fold(std::string_view op, std::vector<ValueId> inputs, const Attrs& attrs = {});
  // Output i of node(), if it has that, is a copy of `id`.
  void give(size_t i, ValueId id);

  ValueId add_constant(std::string_view what, Tensor tensor);
  // A constant vector.
  ValueId add_list(std::string_view what, const std::vector<s64>& values);
  // A transposed and a reshaped value.
  ValueId transposed(ValueId id, std::vector<s64> perm);
  ValueId reshaped(ValueId id, const std::vector<s64>& sizes);

  Graph& graph_;

 private:
  std::string name_of(std::string_view what) const;
  Node node_of(std::string_view op, std::vector<ValueId> inputs, const Attrs& attrs) const;
  ValueId push(Node made);

  Rewrites& rewrites_;
  std::string_view op_;
  GraphEdit edit_;
  size_t at_ = 0;           // the node that is looked at
  std::vector<Node> made_;  // what takes its place
};

}  // namespace octet
