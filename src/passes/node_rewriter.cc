// SPDX-License-Identifier: Apache-2.0
#include "passes/node_rewriter.h"

#include <utility>

#include "core/check.h"
#include "ops/attributes/moves.h"
#include "ops/registry.h"
#include "passes/infer_types.h"
#include "passes/match.h"

namespace octet {

void NodeRewriter::run() {
  bool changed = false;
  for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
    if (!is_op(node(), op_) || !read()) continue;
    if (!rewrites_.allow()) break;
    write();
    OCTET_CHECK(!made_.empty());
    made_.back().name = node().name;
    made_.back().outputs = {node().outputs[0]};
    edit_.replace(at_, std::exchange(made_, {}));
    changed = true;
  }
  edit_.apply();
  if (changed) infer_types(graph_, {.keep_dequantize = true, .budget = rewrites_.folding()});
}

ValueId NodeRewriter::add(std::string_view op, std::vector<ValueId> inputs, const Attrs& attrs) {
  return push(node_of(op, std::move(inputs), attrs));
}

ValueId NodeRewriter::add_or_fold(std::string_view op, std::vector<ValueId> inputs,
                                  const Attrs& attrs) {
  Node made = node_of(op, std::move(inputs), attrs);
  std::vector<Tensor> constants;
  for (const ValueId id : made.inputs) {
    if (graph_.is_constant(id)) constants.push_back(graph_.value(id).constant);
  }
  if (constants.size() != made.inputs.size()) return push(std::move(made));
  made.outputs = {kNoValue};
  return graph_.add_constant(made.name, eval_node(made, constants)[0]);
}

void NodeRewriter::give(size_t i, ValueId id) {
  if (i >= node().outputs.size() || node().outputs[i] == kNoValue) return;
  add("Identity", {id});
  made_.back().outputs = {node().outputs[i]};
}

ValueId NodeRewriter::add_constant(std::string_view what, Tensor tensor) {
  return graph_.add_constant(name_of(what), std::move(tensor));
}

ValueId NodeRewriter::add_list(std::string_view what, const std::vector<s64>& values) {
  return add_constant(what, Tensor::of<s64>(Shape{std::ssize(values)}, values));
}

ValueId NodeRewriter::transposed(ValueId id, std::vector<s64> perm) {
  Attrs attrs;
  set_attribute<&TransposeAttributes::perm>(attrs, std::move(perm));
  return add_or_fold("Transpose", {id}, attrs);
}

ValueId NodeRewriter::reshaped(ValueId id, const std::vector<s64>& sizes) {
  return add_or_fold("Reshape", {id, add_list("sizes", sizes)});
}

std::string NodeRewriter::name_of(std::string_view what) const {
  return node().name + "." + std::string(what);
}

Node NodeRewriter::node_of(std::string_view op, std::vector<ValueId> inputs,
                           const Attrs& attrs) const {
  Node made = node_beside(node(), find_op(op), name_of(op), std::move(inputs));
  made.attrs = attrs;
  return made;
}

// Types come when all nodes are in their places.
ValueId NodeRewriter::push(Node made) {
  const ValueId result = graph_.add_value(made.name, {Dtype::f32, Shape::unknown()});
  made.outputs = {result};
  made_.push_back(std::move(made));
  return result;
}

}  // namespace octet
