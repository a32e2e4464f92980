// SPDX-License-Identifier: Apache-2.0
// An operator that only moves elements runs on codes: DQ -> op becomes op -> DQ. Where the inputs of a Concat have
// different parameters, they are brought to those of the QuantizeLinear that follows, by a table each; so is the input of a Pad
// whose value has no code among the input's.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/rounding.h"
#include "ops/attributes/moves.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/qdq.h"

namespace octet {
namespace {

class Mover : EditingPass {
 public:
  using EditingPass::EditingPass;

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
    if (is_op(node, "Pad") && type && !has_code(pad_value(node), *type)) same = false;
    if (type && cuts_constants(node, *type)) same = false;
    return same ? type : following_quantize(node);
  }

  // What a Pad puts around its input: zero where it does not say; no value where only a run tells.
  Tensor pad_value(const Node& pad) const {
    if (attribute_of<&PadAttributes::mode>(pad) != PadMode::constant || pad.input(2) == kNoValue)
      return Tensor::scalar<f32>(0.0f);
    const Tensor* value = graph_.constant_input(pad, 2);
    return value != nullptr ? *value : Tensor();
  }

  static bool has_code(const Tensor& value, const CodeType& type) {
    if (!value) return false;
    const Tensor code = quantize_tensor(value, type);
    const s32 q = type.dtype == Dtype::u8 ? s32{code.as<u8>()[0]} : s32{code.as<s8>()[0]};
    return dequantize(q, type.params.scale, type.params.zero_point) == value.as<f32>()[0];
  }

  // A constant beside what has codes (a Concat's) that is beyond them.
  bool cuts_constants(const Node& node, const CodeType& type) const {
    const s32 first = type.dtype == Dtype::u8 ? 0 : -128;
    const f32 low = dequantize(first, type.params.scale, type.params.zero_point);
    const f32 high = dequantize(first + 255, type.params.scale, type.params.zero_point);
    const auto is_cut = [&](f32 value) {
      return value < low - type.params.scale || value > high + type.params.scale;
    };
    return std::ranges::any_of(moved_inputs(node), [&](size_t i) {
      const Tensor* constant = graph_.constant_input(node, i);
      return constant != nullptr && constant->dtype() == Dtype::f32 &&
             std::ranges::any_of(constant->as<f32>(), is_cut);
    });
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
    if (is_op(node, "Pad") && !pad_value(node)) return false;
    const ValueId result = node.outputs[0];  // a Split may leave out its first
    return result != kNoValue && graph_.value(result).type.dtype == Dtype::f32;
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
    const Tensor value = pad_value(pad);
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

  std::unordered_map<ValueId, Node> dequantize_;  // by the real value it produces
};

}  // namespace

void move_dequantize(Graph& graph, Rewrites& rewrites) { Mover(graph, rewrites).run(); }

}  // namespace octet
