// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/node_parser.h"

#include <utility>

#include "core/check.h"
#include "ops/registry.h"

namespace octet {
namespace {

const OpDef* known_op(std::string_view name) {
  const OpDef* op = find_op(name);
  OCTET_CHECK(op != nullptr);
  return op;
}

}  // namespace

ValueId NodeParser::required(size_t i) const {
  if (has_input(i)) return node.inputs[i];
  if (i < node.inputs.size())
    fail(Error::Code::invalid_model, "input {} is omitted, but {} requires it", i, node.op->name);
  fail(Error::Code::invalid_model, "{} needs at least {} inputs, has {}", node.op->name, i + 1,
       node.inputs.size());
}

ValueId NodeParser::add_constant(Tensor tensor) {
  return graph_.add_constant(node.name + "_constant", std::move(tensor));
}

ValueId NodeParser::add_ints(const std::vector<s64>& list) {
  return add_constant(Tensor::of<s64>(Shape{std::ssize(list)}, list));
}

bool NodeParser::is_one_code(size_t i) const {
  if (!has_input(i)) return false;
  const TensorType& type = graph_.value(node.input(i)).type;
  return (type.dtype == Dtype::u8 || type.dtype == Dtype::s8) && type.shape.is_static() &&
         type.shape.elements() == 1;
}

void NodeParser::set_input(size_t i, Tensor constant) {
  if (node.inputs.size() <= i) node.inputs.resize(i + 1, kNoValue);
  node.inputs[i] = add_constant(std::move(constant));
}

void NodeParser::ints_to_input(std::string_view attr, size_t i) {
  if (!node.attrs.has(attr)) return;
  const std::vector<s64> values = node.attrs.ints(attr);
  node.attrs.erase(attr);
  set_input(i, Tensor::of<s64>(Shape{static_cast<s64>(values.size())}, values));
}

ValueId NodeParser::emit_before(std::string_view op, std::vector<ValueId> inputs, Attrs attrs) {
  return emit_several(op, std::move(inputs), 1, std::move(attrs))[0];
}

std::vector<ValueId> NodeParser::emit_several(std::string_view op, std::vector<ValueId> inputs,
                                              size_t count, Attrs attrs) {
  Node added{.op = known_op(op),
             .name = node.name + "_" + std::string(op),
             .inputs = std::move(inputs),
             .outputs = {},
             .attrs = std::move(attrs),
             .origins = node.origins,
             .decision = {}};
  std::vector<ValueId> outputs;
  for (size_t i = 0; i < count; ++i) outputs.push_back(graph_.add_value(added.name, {}));
  added.outputs = outputs;
  before_.push_back(std::move(added));
  return outputs;
}

void NodeParser::emit_after(std::string_view op, std::vector<ValueId> other_inputs, Attrs attrs) {
  Node added{.op = known_op(op),
             .name = node.name + "_" + std::string(op),
             .inputs = {},
             .outputs = {node.outputs.at(0)},
             .attrs = std::move(attrs),
             .origins = node.origins,
             .decision = {}};
  // The new node takes over the output name that the rest of the graph reads.
  ValueId& own = after_.empty() ? node.outputs[0] : after_.back().outputs[0];
  added.outputs[0] = own;
  own = graph_.add_value(added.name + "_input", {});
  added.inputs.push_back(own);
  added.inputs.insert(added.inputs.end(), other_inputs.begin(), other_inputs.end());
  after_.push_back(std::move(added));
}

void NodeParser::give(size_t i, std::string_view op, std::vector<ValueId> inputs, Attrs attrs) {
  if (i >= node.outputs.size() || node.outputs[i] == kNoValue) return;
  emit_before(op, std::move(inputs), std::move(attrs));
  before_.back().outputs = {node.outputs[i]};
  node.outputs[i] = kNoValue;
}

void NodeParser::become(std::string_view op) { node.op = known_op(op); }

}  // namespace octet
