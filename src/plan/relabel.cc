// SPDX-License-Identifier: Apache-2.0
// s8 activations become u8 with zero_point + 128, so that kernels need one input type (VPDPBUSD multiplies u8 by s8).
// The real values, and therefore all results, are the same to the bit (docs/numerics.md section 1). Inputs and outputs
// of the graph keep the type that the caller sees.
#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "graph/op_def.h"
#include "ops/registry.h"
#include "plan/plan.h"

namespace octet {
namespace {

constexpr s32 kShift = 128;
constexpr size_t kTable = 5,
                 kAddend = 6;  // inputs of QConv and QMatMul, see ops/quantized/epilogue.h

Tensor shifted(const Tensor& codes) {
  Tensor result(Dtype::u8, codes.shape());
  auto src = codes.as<s8>();
  auto dst = result.mutable_as<u8>();
  for (size_t i = 0; i < dst.size(); ++i) dst[i] = static_cast<u8>(src[i] + kShift);
  return result;
}

// Inputs and outputs keep their s8 codes; what lies between may change, behind a table that leaves codes as they are.
class Boundary {
 public:
  explicit Boundary(Graph& graph) : graph_(graph) {}

  void run() {
    for (ValueId id : graph_.inputs) {
      if (is_s8(id)) enter(id);
    }
    for (ValueId id : graph_.outputs) {
      if (is_s8(id)) leave(id);
    }
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
        dst[i] = static_cast<s8>(static_cast<s32>(i) - kShift);
      table_ = graph_.add_constant("codes_as_they_are", std::move(codes));
    }
    Node node;
    node.op = find_op("QTable");
    node.name = graph_.value(from).name + ".relabel";
    node.inputs = {from, table_};
    node.outputs = {to};
    node.decision = {"int8", "s8 codes of the caller, u8 inside"};
    return node;
  }

  ValueId twin(ValueId id) {
    const ValueId inner = graph_.add_value(graph_.value(id).name + ".inner", graph_.value(id).type);
    graph_.value(inner).quant = graph_.value(id).quant;
    return inner;
  }

  void enter(ValueId id) {
    const ValueId inner = twin(id);
    for (Node& node : graph_.nodes) std::ranges::replace(node.inputs, id, inner);
    graph_.nodes.insert(graph_.nodes.begin(), copy(id, inner));
  }

  void leave(ValueId id) {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      auto& outputs = graph_.nodes[n].outputs;
      if (std::ranges::find(outputs, id) == outputs.end()) continue;
      if (graph_.nodes[n].op->name == "QTable") return;  // yields s8 as well as u8
      const ValueId inner = twin(id);
      for (Node& node : graph_.nodes) {
        std::ranges::replace(node.inputs, id, inner);
        std::ranges::replace(node.outputs, id, inner);
      }
      graph_.nodes.insert(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(n) + 1,
                          copy(inner, id));
      return;
    }
  }

  Graph& graph_;
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
      if (value.quant) value.quant->zero_point += kShift;
    }
  }

 private:
  ValueId root(ValueId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  static bool moves(const Node& node) { return node.op->quant.kind == QuantKind::move_codes; }
  static bool is_qdq(const Node& node) {
    return node.op->name == "QuantizeLinear" || node.op->name == "DequantizeLinear";
  }
  static bool has_output_codes(const Node& node) { return node.attrs.has("output_zero_point"); }

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

  // True for a node that reads or writes codes without attributes or constants that say what they mean: its codes stay.
  bool keeps_codes(const Node& node) const {
    const bool table = node.op->name == "QTable";
    if (!table && !is_qdq(node) && !node.attrs.has("input_zero_points")) return !moves(node);
    const ValueId meaning = node.input(table ? 1 : (is_qdq(node) ? 2 : kTable));
    return meaning != kNoValue && !graph_.is_constant(meaning);
  }

  bool changed(ValueId id) const { return id != kNoValue && changed_[id]; }

  ValueId shifted_constant(ValueId id) {
    return graph_.add_constant(graph_.value(id).name + ".u8", shifted(graph_.value(id).constant));
  }

  void shift_attr(Node& node, std::string_view name) {
    node.attrs.set(name, node.attrs.i(name) + kShift);
  }

  void rewrite(Node& node) {
    if (node.op->name == "QTable") {
      rewrite_table(node, 1);
    } else if (is_qdq(node)) {
      rewrite_qdq(node);
    } else if (moves(node)) {
      rewrite_move(node);
    } else if (node.attrs.has("input_zero_points")) {
      rewrite_integer(node);
    }
  }

  void rewrite_qdq(Node& node) {
    const bool quantize = node.op->name == "QuantizeLinear";
    if (!changed(quantize ? node.outputs[0] : node.inputs[0])) return;
    if (node.inputs.size() < 3) node.inputs.resize(3, kNoValue);
    node.inputs[2] = node.inputs[2] == kNoValue ? graph_.add_constant(node.name + ".zero_point",
                                                                      Tensor::scalar<u8>(kShift))
                                                : shifted_constant(node.inputs[2]);
  }

  // A code input of a table indexes it with code + 128 already; only what the table yields changes.
  void rewrite_table(Node& node, size_t table) {
    if (changed(node.outputs[0])) node.inputs[table] = shifted_constant(node.inputs[table]);
  }

  void rewrite_move(Node& node) {
    if (!changed(node.outputs[0])) return;
    for (ValueId& id : node.inputs) {
      if (graph_.is_constant(id) && graph_.value(id).type.dtype == Dtype::s8)
        id = shifted_constant(id);
    }
  }

  void rewrite_integer(Node& node) {
    std::vector<s64> zero_points = node.attrs.ints("input_zero_points");
    zero_points.resize(node.inputs.size(), 0);
    for (size_t i = 0; i < node.inputs.size() && i < zero_points.size(); ++i) {
      if (changed(node.inputs[i])) zero_points[i] += kShift;
    }
    node.attrs.set("input_zero_points", zero_points);
    if (!changed(node.outputs[0])) return;
    if (node.input(kAddend) != kNoValue) {
      for (const char* name : {"sum_zero_point", "sum_lo", "sum_hi"}) shift_attr(node, name);
      node.attrs.set("sum_dtype", std::string("u8"));
    } else if (node.input(kTable) != kNoValue) {
      rewrite_table(node, kTable);
    } else if (has_output_codes(node)) {
      for (const char* name : {"output_zero_point", "lo", "hi"}) shift_attr(node, name);
      node.attrs.set("output_dtype", std::string("u8"));
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
