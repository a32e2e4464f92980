// SPDX-License-Identifier: Apache-2.0
// A model in f16 or bf16 computes in f32, which every kernel here is written for: each node that can takes f32 copies of its 16-bit
// inputs and gives f32, rounded only where a 16-bit value is still read (graph outputs, nodes that depend on the type). Codes are made
// of the f32 values, as those quantizers mean it that write Q/DQ with 16-bit scales between 16-bit layers (ModelOpt).
// Sums were f32 before; what changes is that results between nodes are no longer rounded to 16 bits.
#include <algorithm>
#include <unordered_map>

#include "core/check.h"
#include "ops/attributes/codes.h"
#include "ops/registry.h"
#include "passes/infer_types.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {

namespace {

bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

class Widener {
 public:
  Widener(Graph& graph, SampledTypes types)
      : graph_(graph), types_(std::move(types)), edit_(graph) {}

  void run(Rewrites& rewrites) {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (widens(graph_.nodes[n]) && rewrites.allow()) widen(n);
    }
    edit_.apply();
  }

 private:
  static TensorType widened(TensorType type) {
    if (is_half(type.dtype)) type.dtype = Dtype::f32;
    return type;
  }

  // With f32 in place of every 16-bit input the node must give exactly its present outputs in f32.
  bool widens(const Node& node) const {
    const auto half = [&](ValueId id) { return id != kNoValue && is_half(type_of(id).dtype); };
    if (is_quantize(node)) return std::ranges::any_of(node.inputs, half);  // it divides in f32
    if (!std::ranges::any_of(node.outputs, half)) return false;
    std::vector<TensorType> inputs, wanted;
    std::vector<const Tensor*> values;
    for (ValueId id : node.inputs) {
      inputs.push_back(id == kNoValue ? TensorType{} : widened(type_of(id)));
      const bool known = id != kNoValue && !half(id) && types_.first.known[id];
      values.push_back(known ? &types_.first.known[id] : nullptr);
    }
    try {
      const std::vector<TensorType> got = infer_node(node, inputs, values);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const ValueId id = node.outputs[i];
        if (id != kNoValue && got[i] != widened(type_of(id))) return false;
      }
    } catch (const Error&) {
      return false;  // the operator is defined for the 16-bit type alone
    }
    return true;
  }

  const TensorType& type_of(ValueId id) const { return types_.first.types[id]; }

  void widen(size_t at) {
    Node& node = graph_.nodes[at];
    for (ValueId& id : node.inputs) {
      if (id != kNoValue && is_half(type_of(id).dtype)) id = wide(id, at);
    }
    for (ValueId& id : node.outputs) {
      if (id == kNoValue || !is_half(type_of(id).dtype)) continue;
      const ValueId twin = add_twin(id);
      edit_.insert_after(at, cast(node, twin, id));
      id = twin;
    }
  }

  ValueId add_twin(ValueId id) {
    const Value& value = graph_.value(id);
    const ValueId twin =
        graph_.add_value(value.name + ".f32", {Dtype::f32, TensorType(value.type).shape});
    return twins_[id] = twin;
  }

  // The f32 copy of a 16-bit value; a constant is converted at once.
  ValueId wide(ValueId id, size_t at) {
    const Node& reader = graph_.nodes[at];
    if (const auto twin = twins_.find(id); twin != twins_.end()) return twin->second;
    if (graph_.is_constant(id)) {
      const Tensor half = graph_.value(id).constant;
      const Node convert = cast(reader, id, kNoValue);
      const std::string name = graph_.value(id).name + ".f32";
      return twins_[id] = graph_.add_constant(name, eval_node(convert, {&half, 1})[0]);
    }
    const ValueId twin = add_twin(id);
    edit_.insert_before(at, cast(reader, id, twin));
    return twin;
  }

  // A conversion beside `neighbor`, whose ONNX nodes it belongs to.
  Node cast(const Node& neighbor, ValueId from, ValueId to) const {
    const Dtype dtype = to == kNoValue ? Dtype::f32 : graph_.value(to).type.dtype;
    const std::string type(dtype_name(dtype));
    Node node =
        node_beside(neighbor, find_op("Cast"), graph_.value(from).name + ".as_" + type, {from});
    node.outputs = {to};
    set_attribute<&CastAttributes::to>(node.attrs, dtype);
    return node;
  }

  Graph& graph_;
  SampledTypes types_;
  std::unordered_map<ValueId, ValueId> twins_;  // 16-bit value -> its f32 copy
  GraphEdit edit_;
};

// Moving 16-bit values about needs no f32; products do.
bool has_half_product(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const auto half = [&](ValueId id) {
      return id != kNoValue && is_half(graph.value(id).type.dtype);
    };
    return node.op->traits->macs != nullptr && std::ranges::any_of(node.outputs, half);
  });
}

}  // namespace

void widen_halves(Graph& graph, Rewrites& rewrites) {
  if (!has_half_product(graph)) return;
  SampledTypes types = infer_types(graph, {.keep_dequantize = true, .budget = rewrites.folding()});
  Widener(graph, std::move(types)).run(rewrites);
}

}  // namespace octet
