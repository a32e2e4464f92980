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

bool takes_half(const Graph& graph, const Node& node, ValueId id, Precision half) {
  if (std::ranges::count(node.inputs, id) != 1) return false;
  const size_t at = static_cast<size_t>(std::ranges::find(node.inputs, id) - node.inputs.begin());
  if (is_product_of_half(graph, node, half)) return at == kX || at == kResidual;
  return takes_halves(graph, node) && at < 2;
}

class Storer {
 public:
  explicit Storer(Graph& graph) : graph_(graph), uses_(graph), edit_(graph) {}

  void run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      if (graph_.nodes[n].op->name == "RoundTo" && all_take(graph_.nodes[n])) store(n);
    }
    edit_.apply();
  }

 private:
  bool all_take(const Node& round) const {
    const ValueId id = round.outputs[0];
    const Precision half = precision_of(dtype_from_name(round.attrs.s("to", "")));
    return !uses_.is_output(id) && !uses_.consumers(id).empty() &&
           std::ranges::all_of(uses_.consumers(id), [&](u32 n) {
             return takes_half(graph_, graph_.nodes[n], id, half);
           });
  }

  static Node cast(const Node& beside, ValueId from, ValueId to, Dtype type, std::string name) {
    Node node = node_beside(beside, find_op("Cast"), std::move(name), {from});
    node.outputs = {to};
    node.attrs.set("to", std::string(dtype_name(type)));
    return node;
  }

  void store(size_t n) {
    const Node round = graph_.nodes[n];
    const ValueId rounded = round.outputs[0];
    const TensorType real = graph_.value(rounded).type;
    const Dtype half = dtype_from_name(round.attrs.s("to", ""));
    const std::string name = graph_.value(rounded).name;
    const ValueId stored = graph_.add_value(name + ".stored", {half, real.shape});
    graph_.nodes[n] = cast(round, round.inputs[0], stored, half, round.name);
    int number = 0;
    for (const u32 reader : uses_.consumers(rounded)) {
      const ValueId own = graph_.add_value(fmt::format("{}.read{}", name, number++), real);
      edit_.insert_before(reader, cast(round, stored, own, Dtype::f32, graph_.value(own).name));
      std::ranges::replace(graph_.nodes[reader].inputs, rounded, own);
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

void store_halves(Graph& graph) { Storer(graph).run(); }

}  // namespace octet::cuda
