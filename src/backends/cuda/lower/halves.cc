// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/halves.h"

#include <algorithm>

#include "graph/graph_edit.h"
#include "ops/registry.h"
#include "ops/shared/dtypes.h"

namespace octet::cuda {
namespace {

bool is_half(Dtype type) { return type == Dtype::f16 || type == Dtype::bf16; }

bool is_cast(const Graph& graph, const Node& node, bool widens) {
  if (node.op->name != "Cast" || node.inputs.size() != 1) return false;
  const Dtype from = graph.value(node.inputs[0]).type.dtype,
              to = graph.value(node.outputs[0]).type.dtype;
  return widens ? is_half(from) && to == Dtype::f32 : from == Dtype::f32 && is_half(to);
}

// x, and what is added.
constexpr size_t kX = 0, kWeights = 1, kResidual = 3;

// As families/product_terms and depthwise_real take it. A layer that is kept in another type has other weights.
bool is_product_of_half(const Graph& graph, const Node& node, Precision half) {
  if (node.op->name != "Conv" && node.op->name != "MatMul") return false;
  const Precision own = node.decision.precision;
  const Tensor* weights = graph.constant_input(node, kWeights);
  if (weights == nullptr || weights->dtype() != Dtype::f32) return false;
  if (own != half && own != Precision::none) return false;
  constexpr s64 kFew = 4;
  const Shape& shape = weights->shape();
  if (node.op->name == "MatMul") return shape.rank() == 2 && shape[1] > kFew;
  const s64 channels = shape[0] / std::max<s64>(1, node.attrs.i("group", 1));
  return shape.rank() == 4 && (channels > kFew || (channels == 1 && shape[1] == 1));
}

// Of two values that a run brings: families/attention_reals, product_halves.
bool is_product_of_values(const Graph& graph, const Node& node, Precision half) {
  const Precision own = node.decision.precision;
  if (node.op->name != "MatMul" || node.inputs.size() != 2) return false;
  if (own != half && own != Precision::none) return false;
  return std::ranges::none_of(node.inputs, [&](ValueId id) { return graph.is_constant(id); });
}

// What only moves elements of its first input, of any type.
bool moves_halves(const Node& node) {
  constexpr std::string_view kMoves[] = {"Flatten",  "Reshape", "Squeeze", "Unsqueeze",
                                         "Identity", "Slice",   "Split",   "Transpose"};
  return std::ranges::find(kMoves, node.op->name) != std::end(kMoves);
}

// As families/rows/halves.cc takes them: parameters are constants.
bool is_rows(const Graph& graph, const Node& node) {
  constexpr std::string_view kRows[] = {"Softmax", "LayerNormalization", "RMSNormalization"};
  return std::ranges::find(kRows, node.op->name) != std::end(kRows) && node.outputs.size() == 1 &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](ValueId id) { return id == kNoValue || graph.is_constant(id); });
}

bool is_depthwise(const Graph& graph, const Node& node) {
  const Tensor* weights = graph.constant_input(node, kWeights);
  return node.op->name == "Conv" && weights != nullptr && weights->shape().rank() == 4 &&
         weights->shape()[1] == 1 && weights->shape()[0] == node.attrs.i("group", 1);
}

bool takes_half(const Graph& graph, const Node& node, ValueId id, Precision half) {
  if (std::ranges::count(node.inputs, id) != 1) return false;
  const size_t at = static_cast<size_t>(std::ranges::find(node.inputs, id) - node.inputs.begin());
  if (is_product_of_half(graph, node, half)) return at == kX || at == kResidual;
  if (is_product_of_values(graph, node, half)) return true;
  if (is_rows(graph, node)) return at == kX;
  return takes_halves(graph, node) && at < 2;
}

class Storer {
 public:
  explicit Storer(Graph& graph) : graph_(graph), uses_(graph), edit_(graph) {}

  void run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const Node& node = graph_.nodes[n];
      if (node.op->name == "RoundTo" && is_stored(node) && !is_of_codes(node)) store(n);
    }
    edit_.apply();
  }

 private:
  // The product that alone reads codes reads them as they are: its chain (float_product.cc) has their rounding.
  bool is_of_codes(const Node& round) const {
    const s32 from = uses_.producer(round.inputs[0]);
    return from >= 0 && graph_.nodes[static_cast<size_t>(from)].op->name == "DequantizeLinear" &&
           is_read_once(graph_, uses_, round.inputs[0]) &&
           is_read_once(graph_, uses_, round.outputs[0]) &&
           reads_rounded_codes(
               graph_, graph_.nodes[static_cast<size_t>(uses_.only_consumer(round.outputs[0]))],
               round);
  }

  bool is_stored(const Node& round) const {
    return all_take(round.outputs[0], precision_of(dtype_from_name(round.attrs.s("to", ""))));
  }

  // Those that read it where it is moved to, too.
  bool all_take(ValueId id, Precision half) const {
    return !uses_.is_output(id) && !uses_.consumers(id).empty() &&
           std::ranges::all_of(uses_.consumers(id), [&](u32 n) {
             const Node& node = graph_.nodes[n];
             return is_moved_by(node, id) ? all_take_moved(node, half)
                                          : takes_half(graph_, node, id, half);
           });
  }
  static bool is_moved_by(const Node& node, ValueId id) {
    return moves_halves(node) && node.inputs[0] == id && std::ranges::count(node.inputs, id) == 1;
  }
  bool all_take_moved(const Node& node, Precision half) const {
    return std::ranges::all_of(node.outputs,
                               [&](ValueId id) { return id != kNoValue && all_take(id, half); });
  }

  static Node cast(const Node& beside, ValueId from, ValueId to, Dtype type, std::string name) {
    Node node = node_beside(beside, find_op("Cast"), std::move(name), {from});
    node.outputs = {to};
    node.attrs.set("to", std::string(dtype_name(type)));
    return node;
  }

  void store(size_t n) {
    const Node round = graph_.nodes[n];
    const Dtype half = dtype_from_name(round.attrs.s("to", ""));
    const ValueId stored = stored_value(round.outputs[0], half);
    graph_.nodes[n] = cast(round, round.inputs[0], stored, half, round.name);
    read_stored(round.outputs[0], stored, round);
  }

  ValueId stored_value(ValueId id, Dtype half) {
    const Value& value = graph_.value(id);
    const std::string name = value.name + ".stored";
    return graph_.add_value(name, {half, value.type.shape});
  }

  void read_stored(ValueId real, ValueId stored, const Node& round) {
    const Dtype half = graph_.value(stored).type.dtype;
    int number = 0;
    for (const u32 reader : uses_.consumers(real)) {
      ValueId from = stored;
      if (is_moved_by(graph_.nodes[reader], real)) {
        store_moved(reader, half, round);
      } else {
        const std::string name = fmt::format("{}.read{}", graph_.value(real).name, number++);
        from = graph_.add_value(name, graph_.value(real).type);
        edit_.insert_before(reader, cast(round, stored, from, Dtype::f32, name));
      }
      std::ranges::replace(graph_.nodes[reader].inputs, real, from);
    }
  }

  void store_moved(u32 mover, Dtype half, const Node& round) {
    for (size_t i = 0; i < graph_.nodes[mover].outputs.size(); ++i) {
      const ValueId real = graph_.nodes[mover].outputs[i], stored = stored_value(real, half);
      graph_.nodes[mover].outputs[i] = stored;
      read_stored(real, stored, round);
    }
  }

  Graph& graph_;
  const Uses uses_;
  GraphEdit edit_;
};

}  // namespace

bool is_read_once(const Graph& graph, const Uses& uses, ValueId id) {
  const s32 reader = uses.only_consumer(id);
  return reader >= 0 &&
         std::ranges::count(graph.nodes[static_cast<size_t>(reader)].inputs, id) == 1;
}

bool is_widening(const Graph& graph, const Node& node) { return is_cast(graph, node, true); }
bool is_narrowing(const Graph& graph, const Node& node) { return is_cast(graph, node, false); }

bool reads_rounded_codes(const Graph& graph, const Node& product, const Node& round) {
  if (product.op->name != "Conv" && product.op->name != "MatMul") return false;
  if (product.inputs[kX] != round.outputs[0]) return false;
  return round.attrs.s("to", "") == "f16" || is_depthwise(graph, product);
}

void store_halves(Graph& graph) { Storer(graph).run(); }

}  // namespace octet::cuda
