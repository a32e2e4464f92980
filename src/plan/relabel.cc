// SPDX-License-Identifier: Apache-2.0
// s8 activations become u8 with zero_point + 128, so that kernels need one input type (VPDPBUSD multiplies u8 by s8).
// The real values, and therefore all results, are the same to the bit (docs/numerics.md section 1). Inputs and outputs
// of the graph keep the type that the caller sees.
#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "graph/graph_edit.h"
#include "graph/op_traits.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/zero_points.h"
#include "ops/registry.h"
#include "plan/plan.h"
#include "plugin/codes.h"
#include "plugin/plugin_op.h"

namespace octet {
namespace {

// Inputs and outputs keep their s8 codes; what lies between may change, behind a table that leaves codes as they are.
class Boundary {
 public:
  explicit Boundary(Graph& graph) : graph_(graph), inner_(graph.value_count(), kNoValue) {}

  void run() {
    const Uses uses(graph_);
    GraphEdit edit(graph_);
    for (ValueId id : graph_.inputs) {
      if (is_s8(id)) edit.insert_first(copy(id, twin(id)));
    }
    for (ValueId id : graph_.outputs) {
      const s32 producer = uses.producer(id);
      if (!is_s8(id) || producer < 0 || inner_[id] != kNoValue) continue;
      const auto at = static_cast<size_t>(producer);
      if (is_table(graph_.nodes[at])) continue;  // yields s8 as well as u8
      edit.insert_after(at, copy(twin(id), id));
    }
    for (Node& node : graph_.nodes) {
      for (ValueId& id : node.inputs) rename(id);
      for (ValueId& id : node.outputs) rename(id);
    }
    edit.apply();
  }

 private:
  bool is_s8(ValueId id) const {
    return graph_.value(id).type.dtype == Dtype::s8 && !graph_.is_constant(id);
  }

  Node copy(ValueId from, ValueId to) {
    if (table_ == kNoValue) {
      Tensor codes(Dtype::s8, Shape{256});
      const auto dst = codes.mutable_as<s8>();
      for (size_t i = 0; i < dst.size(); ++i)
        dst[i] = static_cast<s8>(static_cast<s32>(i) - kS8ToU8);
      table_ = graph_.add_constant("codes_as_they_are", std::move(codes));
    }
    Node node;
    node.op = find_op("QTable");
    node.name = graph_.value(from).name + ".relabel";
    node.inputs = {from, table_};
    node.outputs = {to};
    node.decision = {Precision::int8, ReasonCode::relabeled, "s8 codes of the caller, u8 inside"};
    return node;
  }

  // What the graph knows the value by from now on.
  ValueId twin(ValueId id) {
    const ValueId inner = graph_.add_value(graph_.value(id).name + ".inner", graph_.value(id).type);
    graph_.value(inner).quant = graph_.value(id).quant;
    return inner_[id] = inner;
  }

  void rename(ValueId& id) const {
    if (id != kNoValue && inner_[id] != kNoValue) id = inner_[id];
  }

  Graph& graph_;
  std::vector<ValueId> inner_;  // of each value that has a twin
  ValueId table_ = kNoValue;
};

class Relabeller {
 public:
  explicit Relabeller(Graph& graph)
      : graph_(graph), parent_(graph.value_count()), fixed_(graph.value_count(), false) {
    std::iota(parent_.begin(), parent_.end(), ValueId{0});
  }

  void run() {
    for (ValueId id : graph_.inputs) fixed_[id] = true;
    for (ValueId id : graph_.outputs) fixed_[id] = true;
    for (const Node& node : graph_.nodes) note_constraints(node);
    std::vector<bool> fixed_root(fixed_.size(), false);
    for (ValueId id = 0; id < fixed_.size(); ++id) {
      if (fixed_[id]) fixed_root[root(id)] = true;
    }
    changed_.resize(fixed_.size(), false);
    for (ValueId id = 0; id < fixed_.size(); ++id) {
      const bool codes = graph_.value(id).type.dtype == Dtype::s8 && !graph_.is_constant(id);
      changed_[id] = codes && !fixed_root[root(id)];
    }
    for (Node& node : graph_.nodes) rewrite(node);
    for (ValueId id = 0; id < changed_.size(); ++id) {
      if (!changed_[id]) continue;
      Value& value = graph_.value(id);
      value.type.dtype = Dtype::u8;
      if (value.quant) value.quant->zero_point += kS8ToU8;
    }
  }

 private:
  ValueId root(ValueId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  static bool moves(const Node& node) { return node.op->quant.kind == QuantKind::move_codes; }

  // Values tied together by an operator that moves codes change together; those seen by an operator that knows nothing
  // of zero points do not change.
  void note_constraints(const Node& node) {
    const bool fixed = keeps_codes(node);
    ValueId first = kNoValue;
    const auto tie = [&](ValueId id) {
      if (id == kNoValue || graph_.value(id).type.dtype != Dtype::s8) return;
      if (fixed) fixed_[id] = true;
      if (!moves(node)) return;
      if (first == kNoValue) first = id;
      parent_[root(id)] = root(first);
    };
    for (ValueId id : node.inputs) tie(id);
    for (ValueId id : node.outputs) tie(id);
  }

  // The input that says what a node's codes mean, beside attributes.
  static ValueId meaning_of(const Node& node) {
    switch (node.op->traits->codes) {
      case CodeMeaning::unknown:
        return kNoValue;
      case CodeMeaning::attributes:
        return node.op->traits->product_epilogue ? node.input(kProductTable) : kNoValue;
      case CodeMeaning::table:
        return node.input(1);
      case CodeMeaning::quantize:
      case CodeMeaning::dequantize:
        return node.input(2);
    }
    return kNoValue;
  }

  // True for a node that reads or writes codes without attributes or constants that say what they mean: its codes stay.
  bool keeps_codes(const Node& node) const {
    if (is_plugin_codes(node)) return false;
    if (node.op->traits->codes == CodeMeaning::unknown) return !moves(node);
    const ValueId meaning = meaning_of(node);
    return meaning != kNoValue && !graph_.is_constant(meaning);
  }

  bool changed(ValueId id) const { return id != kNoValue && changed_[id]; }

  ValueId shifted_constant(ValueId id) {
    return graph_.add_constant(graph_.value(id).name + ".u8",
                               codes_as_u8(graph_.value(id).constant));
  }

  void rewrite(Node& node) {
    if (is_plugin_codes(node)) return rewrite_plugin(node);
    switch (node.op->traits->codes) {
      case CodeMeaning::unknown:
        return moves(node) ? rewrite_move(node) : void();
      case CodeMeaning::attributes:
        return rewrite_integer(node);
      case CodeMeaning::table:
        return rewrite_table(node);
      case CodeMeaning::quantize:
        return rewrite_qdq(node, node.outputs[0]);
      case CodeMeaning::dequantize:
        return rewrite_qdq(node, node.inputs[0]);
    }
  }

  void rewrite_qdq(Node& node, ValueId codes) {
    if (!changed(codes)) return;
    if (node.inputs.size() < 3) node.inputs.resize(3, kNoValue);
    node.inputs[2] = node.inputs[2] == kNoValue ? graph_.add_constant(node.name + ".zero_point",
                                                                      Tensor::scalar<u8>(kS8ToU8))
                                                : shifted_constant(node.inputs[2]);
  }

  // A code input of a table indexes it with code + 128 already; only what the table yields changes.
  void rewrite_table(Node& node) {
    if (changed(node.outputs[0])) node.inputs[1] = shifted_constant(node.inputs[1]);
  }

  void rewrite_move(Node& node) {
    if (!changed(node.outputs[0])) return;
    for (ValueId& id : node.inputs) {
      if (graph_.is_constant(id) && graph_.value(id).type.dtype == Dtype::s8)
        id = shifted_constant(id);
    }
  }

  static bool has_weights(const Node& node) {
    return node.op->traits->product_epilogue || node.op->traits->s8_weights;
  }

  // s8 codes that stand where an activation may: what is added or multiplied elementwise. Weights of products stay s8.
  bool is_constant_operand(const Node& node, size_t i) const {
    const ValueId id = node.inputs[i];
    return id != kNoValue && !has_weights(node) && graph_.is_constant(id) &&
           graph_.value(id).type.dtype == Dtype::s8;
  }

  void rewrite_integer(Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (changed(node.inputs[i]) || is_constant_operand(node, i)) read_as_u8(node, i);
      if (is_constant_operand(node, i)) node.inputs[i] = shifted_constant(node.inputs[i]);
    }
    if (changed(node.outputs[0])) write_as_u8(graph_, node);
  }

  void rewrite_plugin(Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (changed(node.inputs[i])) plugin_reads_as_u8(node, i);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (changed(node.outputs[i])) plugin_writes_as_u8(node, i);
    }
  }

  Graph& graph_;
  std::vector<ValueId> parent_;
  std::vector<bool> fixed_;
  std::vector<bool> changed_;
};

}  // namespace

void relabel_s8(Graph& graph) {
  Boundary(graph).run();
  Relabeller(graph).run();
}

}  // namespace octet
