// SPDX-License-Identifier: Apache-2.0
// An operator that only moves elements runs on codes: DQ -> op becomes op -> DQ. Where the inputs of a Concat have
// different parameters, they are brought to those of the QuantizeLinear that follows, by a table each.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

class Mover {
 public:
  Mover(Graph& graph, Rewrites& rewrites)
      : graph_(graph), rewrites_(rewrites), uses_(rewrites.uses(graph)), edit_(graph) {}

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      Node& node = graph_.nodes[at_];
      if (is_dequantize(node)) {
        dequantize_[node.outputs[0]] = node;
      } else {
        try_move(node);
      }
    }
    edit_.apply();
  }

 private:
  const Node* dequantize_of(ValueId id) const {
    const auto at = dequantize_.find(id);
    return at == dequantize_.end() ? nullptr : &at->second;
  }

  // The code type that the result will have; nothing when the node cannot run on codes.
  std::optional<CodeType> result_type(const Node& node) const {
    std::optional<CodeType> type;
    bool same = true;
    for (size_t i : moved_inputs(node)) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || graph_.is_constant(id)) continue;
      const Node* dq = dequantize_of(id);
      const std::optional<CodeType> own = dq != nullptr ? code_type(graph_, *dq) : std::nullopt;
      if (!own) return std::nullopt;
      same = same && (!type || *type == *own);
      type = own;
    }
    return same ? type : following_quantize(node);
  }

  std::optional<CodeType> following_quantize(const Node& node) const {
    const s32 reader = uses_.only_consumer(node.outputs[0]);
    if (reader < 0) return std::nullopt;
    const Node& next = graph_.nodes[static_cast<size_t>(reader)];
    return is_quantize(next) ? code_type(graph_, next) : std::nullopt;
  }

  bool is_movable(const Node& node) const {
    const QuantRule& rule = node.op->quant;
    if (rule.kind != QuantKind::move_codes || node.decision.precision == Precision::f32)
      return false;
    if (rule.quantize != nullptr && !rejection(node).empty()) return false;
    return graph_.value(node.outputs[0]).type.dtype == Dtype::f32;
  }

  std::string rejection(const Node& node) const {
    return node.op->quant.quantize({graph_, node, {}, {}, Dtype::u8}).reject;
  }

  void try_move(Node& node) {
    if (!is_movable(node)) return;
    const std::optional<CodeType> type = result_type(node);
    if (!type || !rewrites_.allow()) return;
    Node moved = node;
    for (size_t i : moved_inputs(node)) moved.inputs[i] = as_codes(node, i, *type);
    if (is_op(node, "Pad")) set_pad_code(moved, *type);
    for (ValueId& output : moved.outputs) {
      if (output == kNoValue || graph_.value(output).type.dtype != Dtype::f32) continue;
      Node dq = real_again(output, *type);
      dequantize_[dq.outputs[0]] = dq;
      edit_.insert_after(at_, std::move(dq));
    }
    node = std::move(moved);
  }

  ValueId as_codes(const Node& node, size_t i, const CodeType& type) {
    const ValueId id = node.inputs[i];
    if (id == kNoValue) return id;
    const std::string name = graph_.value(id).name;
    if (graph_.is_constant(id)) {
      return graph_.add_constant(name + ".codes", quantize_tensor(graph_.value(id).constant, type));
    }
    const Node& dq = *dequantize_of(id);
    const CodeType own = *code_type(graph_, dq);
    if (own == type) return dq.inputs[0];
    Node rescale = make_rescale(graph_, dq.inputs[0], own, type, name + ".rescaled");
    rescale.decision = {
        Precision::int8, ReasonCode::shared_scale,
        "brings the codes to the scale that the inputs of " + describe(node) + " share"};
    const ValueId rescaled = rescale.outputs[0];
    edit_.insert_before(at_, std::move(rescale));
    return rescaled;
  }

  void set_pad_code(Node& pad, const CodeType& type) {
    const Tensor* real = graph_.constant_input(pad, 2);
    const Tensor value = real != nullptr ? *real : Tensor::scalar<f32>(0.0f);
    if (pad.inputs.size() < 3) pad.inputs.resize(3, kNoValue);
    pad.inputs[2] = graph_.add_constant(pad.name + ".code", quantize_tensor(value, type));
  }

  // `output` becomes codes under a new value; the node returned produces the old real value from it.
  Node real_again(ValueId& output, const CodeType& type) {
    const ValueId real = output;
    const Value& value = graph_.value(real);
    const std::string name = value.name;
    output = graph_.add_value(name + ".codes", {type.dtype, value.type.shape});
    graph_.value(output).quant = type.params;
    Node dq = make_dequantize(graph_, output, type, name + ".dequantized");
    dq.outputs[0] = real;
    return dq;
  }

  Graph& graph_;
  Rewrites& rewrites_;
  const Uses& uses_;
  GraphEdit edit_;
  size_t at_ = 0;                                 // the node that is looked at
  std::unordered_map<ValueId, Node> dequantize_;  // by the real value it produces
};

}  // namespace

void move_dequantize(Graph& graph, Rewrites& rewrites) { Mover(graph, rewrites).run(); }

}  // namespace octet
