// SPDX-License-Identifier: Apache-2.0
// What OpDef::parse works on: the only place where an opset number is seen.
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace octet {

// Handed to OpDef::parse: the node holds the ONNX attributes and inputs as read; parse rewrites it to the canonical form.
class NodeParser {
 public:
  NodeParser(Graph& graph, Node& n, int opset_version, std::vector<Node>& before,
             std::vector<Node>& after)
      : node(n), opset(opset_version), graph_(graph), before_(before), after_(after) {}

  Node& node;
  const int opset;  // of the node's domain

  bool has_input(size_t i) const { return node.input(i) != kNoValue; }
  // Input i, without which the node means nothing. Throws Error(invalid_model) where it is missing or omitted.
  ValueId required(size_t i) const;
  const Tensor* constant(size_t i) const { return graph_.constant_input(node, i); }
  // Whether input i is known to be one u8 or s8 code; while the model is imported, types of computed values are not known.
  bool is_one_code(size_t i) const;
  // Sets input i (growing the list with omitted inputs) to a new constant.
  void set_input(size_t i, Tensor constant);
  // Moves an ints attribute of older opsets to input i as s64 constant.
  void ints_to_input(std::string_view attr, size_t i);
  ValueId add_constant(Tensor tensor);
  ValueId add_ints(const std::vector<s64>& list);  // s64, one axis
  // Adds a node before this one (reading any value) or after it; returns its single output.
  // `rename_output`: the new node takes over this node's output 0, and this node gets a fresh one.
  ValueId emit_before(std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {});
  // The same of an operator with several outputs.
  std::vector<ValueId> emit_several(std::string_view op, std::vector<ValueId> inputs, size_t count,
                                    Attrs attrs = {});
  void emit_after(std::string_view op, std::vector<ValueId> other_inputs, Attrs attrs = {});
  // Adds a node before this one that computes output i of this one, where there is such an output, instead of it.
  void give(size_t i, std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {});
  void become(std::string_view op);  // changes node.op
  // The weights that the node has now were codes in the file: its user is told that they are real.
  void note_real_weights() { has_real_weights_ = true; }
  bool has_real_weights() const { return has_real_weights_; }
  // The same, seen by an operator of another domain: ONNX's own, of that opset.
  NodeParser at_opset(int version) { return {graph_, node, version, before_, after_}; }

 private:
  Graph& graph_;
  std::vector<Node>& before_;
  std::vector<Node>& after_;
  bool has_real_weights_ = false;
};

}  // namespace octet
