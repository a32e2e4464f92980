// SPDX-License-Identifier: Apache-2.0
// A QuantizeLinear after operators that only move elements (Slice, Concat, Transpose of an image that enters as f32) is
// written before them as well: moving codes costs a quarter, and move_dequantize and cancel_qdq remove what is then double. So it is behind
// what stays f32 by calibration (LayerNormalization before the windows of a Swin, before the Transpose of a ConvNeXt): it then writes codes.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/qdq.h"

namespace octet {
namespace {

// What becomes of a value: read by nobody yet, quantized to one code type in the end by all, or something else too.
struct Fate {
  bool mixed = false;
  std::optional<CodeType> type;

  void join(const std::optional<CodeType>& other) {
    mixed = mixed || !other || (type && *type != *other);
    type = other;
  }
  bool quantized() const { return !mixed && type.has_value(); }
};

class Hoister : EditingPass {
 public:
  Hoister(Graph& graph, Rewrites& rewrites)
      : EditingPass(graph, rewrites),
        fate_(graph.value_count()),
        hoisted_(graph.nodes.size(), false) {}

  void run() {
    find_hoisted();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (hoisted_[n]) round_inputs(graph_.nodes[n]);
    }
    edit_.apply();
  }

 private:
  // Readers before what they read.
  void find_hoisted() {
    for (ValueId id : graph_.outputs) fate_[id].mixed = true;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (node.op->traits->reads_types_only) continue;
      std::optional<CodeType> type;
      if (is_quantize(node)) type = code_type(graph_, node);
      hoisted_[n] = is_hoisted(node);
      if (hoisted_[n]) type = fate_[node.outputs[0]].type;
      for (ValueId id : node.inputs) {
        if (id != kNoValue) fate_[id].join(type);
      }
    }
  }

  // The node moves f32 data that is only quantized afterwards.
  bool is_hoisted(const Node& node) const {
    const QuantRule& rule = node.op->quant;
    if (rule.kind != QuantKind::move_codes || rule.quantize != nullptr || is_op(node, "Pad"))
      return false;
    if (node.outputs.size() != 1 || stays_real(node)) return false;
    const ValueId output = node.outputs[0];
    if (output == kNoValue || graph_.value(output).type.dtype != Dtype::f32) return false;
    if (!fate_[output].quantized()) return false;
    for (size_t i : moved_inputs(node)) {
      if (comes_from_codes(node.inputs[i])) return false;
    }
    return true;
  }

  // By the user's wish, or because quantizing before the node would be more work than behind it. Who only got reals may move codes.
  bool stays_real(const Node& node) const {
    if (node.decision.precision != Precision::f32) return false;
    if (node.decision.code != ReasonCode::float_input) return true;
    const std::vector<size_t> moved = moved_inputs(node);
    return !std::ranges::all_of(moved, [&](size_t i) {
      const ValueId id = node.inputs[i];
      return id == kNoValue || (is_read_whole(id) && (moved.size() == 1 || is_moved(id)));
    });
  }

  // One QuantizeLinear behind a Concat becomes several only where they meet again.
  bool is_moved(ValueId id) const {
    const s32 producer = uses_.producer(id);
    return producer >= 0 &&
           graph_.nodes[static_cast<size_t>(producer)].op->quant.kind == QuantKind::move_codes;
  }

  // Its readers make no less of it than it has.
  bool is_read_whole(ValueId id) const {
    f64 made = 0;
    for (const u32 reader : uses_.consumers(id)) {
      if (graph_.nodes[reader].op->traits->permutes) return true;
      for (const ValueId output : graph_.nodes[reader].outputs)
        made += output == kNoValue ? 0 : size_of(output);
    }
    return made >= size_of(id);
  }

  // Elements; a dynamic dimension counts as one.
  f64 size_of(ValueId id) const {
    const Shape& shape = graph_.value(id).type.shape;
    f64 size = 1;
    for (int d = 0; d < shape.rank(); ++d) size *= static_cast<f64>(std::max<s64>(shape[d], 1));
    return size;
  }

  // What comes from codes already moves as codes.
  bool comes_from_codes(ValueId id) const {
    const s32 producer = id == kNoValue ? -1 : uses_.producer(id);
    return producer >= 0 && is_dequantize(graph_.nodes[static_cast<size_t>(producer)]);
  }

  // Where the data enters a run of moves, it is rounded to the codes that it becomes.
  void round_inputs(Node& node) {
    const CodeType type = *fate_[node.outputs[0]].type;
    for (size_t i : moved_inputs(node)) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || graph_.is_constant(id)) continue;
      const s32 producer = uses_.producer(id);
      if (producer >= 0 && hoisted_[static_cast<size_t>(producer)]) continue;
      if (!rewrites_.allow()) return;
      node.inputs[i] = rounded(id, type);
    }
    if (node.decision.precision == Precision::f32)
      node.decision = {Precision::int8, ReasonCode::moves_codes, "moves codes; the scale stays"};
  }

  // DequantizeLinear(QuantizeLinear(id)), made once and placed where the value is made.
  ValueId rounded(ValueId id, const CodeType& type) {
    for (const auto& [known, result] : rounded_[id]) {
      if (known == type) return result;
    }
    const std::string name = graph_.value(id).name;
    Node quantize = make_quantize(graph_, id, type, name + ".codes");
    Node dequantize = make_dequantize(graph_, quantize.outputs[0], type, name + ".rounded");
    const ValueId result = dequantize.outputs[0];
    const s32 producer = uses_.producer(id);
    for (Node* node : {&quantize, &dequantize}) {
      node->decision = {Precision::int8, ReasonCode::hoisted_boundary,
                        "moved up to where the data enters"};
      if (producer < 0) {
        edit_.insert_first(std::move(*node));
      } else {
        edit_.insert_after(static_cast<size_t>(producer), std::move(*node));
      }
    }
    rounded_[id].emplace_back(type, result);
    return result;
  }

  std::vector<Fate> fate_;     // of each value
  std::vector<bool> hoisted_;  // of each node: quantization moves above it
  std::map<ValueId, std::vector<std::pair<CodeType, ValueId>>> rounded_;
};

}  // namespace

void hoist_quantize(Graph& graph, Rewrites& rewrites) { Hoister(graph, rewrites).run(); }

}  // namespace octet
