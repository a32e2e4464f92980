// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/halves.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "backends/cuda/lower/code_reals.h"
#include "backends/cuda/lower/float_variants.h"
#include "graph/graph_edit.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/window.h"
#include "ops/registry.h"
#include "ops/shared/activation.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/resize.h"
#include "plan/chain.h"

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
  const bool transposed = node.op->name == "ConvTranspose";
  if (node.op->name != "Conv" && node.op->name != "MatMul" && !transposed) return false;
  const Precision own = node.decision.precision;
  const Tensor* weights = graph.constant_input(node, kWeights);
  if (weights == nullptr || weights->dtype() != Dtype::f32) return false;
  if (own != half && own != Precision::none) return false;
  constexpr s64 kFew = 4;
  const Shape& shape = weights->shape();
  if (node.op->name == "MatMul") return shape.rank() == 2;
  if (shape.rank() != 4) return false;
  const Shape& x = graph.value(node.inputs[kX]).type.shape;
  if (transposed && !reject_phases(node, x, shape).empty()) return false;
  const s64 groups = conv_groups(node), channels = transposed ? shape[1] : shape[0] / groups;
  if (groups == 1 || channels > kFew) return true;
  if (transposed) return false;
  if (shape[1] == 1) return channels == 1;  // depthwise_real takes no other multiplier
  return has_wider_groups(groups, shape[1], channels, kFew);
}

// As families/rows/halves.cc takes them: parameters are constants.
bool is_rows(const Graph& graph, const Node& node) {
  constexpr std::string_view kRows[] = {"Softmax", "QSoftmax", "LayerNormalization",
                                        "QLayerNormalization", "RMSNormalization"};
  return std::ranges::find(kRows, node.op->name) != std::end(kRows) && node.outputs.size() == 1 &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](ValueId id) { return id == kNoValue || graph.is_constant(id); });
}

bool is_depthwise(const Graph& graph, const Node& node) {
  const Tensor* weights = graph.constant_input(node, kWeights);
  return node.op->name == "Conv" && weights != nullptr && weights->shape().rank() == 4 &&
         weights->shape()[1] == 1 && weights->shape()[0] == conv_groups(node);
}

bool averages_halves(const Graph& graph, const Node& node) {
  return node.op->name == "AveragePool" && graph.value(node.inputs[0]).type.shape.rank() == 4;
}
// As families/reduce has them: sums and extremes over constant axes.
bool reduces_halves(const Graph& graph, const Node& node) {
  return node.op->name.starts_with("Reduce") && node.op->name != "ReduceProd" &&
         !node.op->name.starts_with("ReduceLog") &&
         graph.value(node.outputs[0]).type.dtype == Dtype::f32 &&
         (node.input(1) == kNoValue || graph.is_constant(node.input(1)));
}

bool takes_half(const Graph& graph, const Node& node, ValueId id, Precision half) {
  if (std::ranges::count(node.inputs, id) != 1) return false;
  const size_t at = static_cast<size_t>(std::ranges::find(node.inputs, id) - node.inputs.begin());
  if (is_product_of_half(graph, node, half)) return at == kX || at == kResidual;
  const Precision own = node.decision.precision;
  if (is_product_of_values(graph, node) && (own == half || own == Precision::none)) return true;
  if (is_rows(graph, node)) return at == kX;
  if (averages_halves(graph, node) || reduces_halves(graph, node)) return at == 0;
  if (is_plain_quantize(graph, node)) return true;
  return takes_halves(graph, node) && at < 2;
}

// Of each value the type of 16 bits whose numbers its reals are; f32: they are any.
class Grids {
 public:
  explicit Grids(const Graph& graph) : types_(graph.value_count(), Dtype::f32) {
    for (const Node& node : graph.nodes) {
      Dtype type = Dtype::f32;
      if (node.op->name == "RoundTo") {
        type = attribute_of<&CastAttributes::to>(node);
      } else {
        const std::vector<size_t> from = moved_inputs(graph, node);
        for (const size_t i : from)
          type = i == from[0] || type == of(node.inputs[i]) ? of(node.inputs[i]) : Dtype::f32;
      }
      for (const ValueId id : node.outputs) {
        if (id != kNoValue) types_[id] = type;
      }
    }
  }
  Dtype of(ValueId id) const { return id < types_.size() ? types_[id] : Dtype::f32; }
  bool is_half(ValueId id) const { return of(id) != Dtype::f32; }
  // Forgets that of a value; whether it was known.
  bool drop(ValueId id) { return std::exchange(types_[id], Dtype::f32) != Dtype::f32; }

 private:
  std::vector<Dtype> types_;
};

// What is on a type's grid needs no rounding to it.
void drop_roundings(Graph& graph) {
  const Grids grids(graph);
  const Uses uses(graph);
  GraphEdit edit(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op->name != "RoundTo" || uses.is_output(node.outputs[0]) ||
        grids.of(node.inputs[0]) != grids.of(node.outputs[0]))
      continue;
    const ValueId from = node.inputs[0], to = node.outputs[0];
    for (const u32 reader : uses.consumers(to))
      std::ranges::replace(graph.nodes[reader].inputs, to, from);
    edit.erase(n);
  }
  edit.apply();
}

class Storer {
 public:
  explicit Storer(Graph& graph)
      : graph_(graph),
        uses_(graph),
        grids_(graph),
        stored_(graph.value_count(), kNoValue),
        reads_(graph.value_count()),
        edit_(graph) {}

  void run() {
    const size_t count = graph_.nodes.size();
    for (const Node& node : graph_.nodes) {
      if (node.op->name == "RoundTo" && is_of_codes(node)) grids_.drop(node.outputs[0]);
    }
    while (drop_others()) {
    }
    for (size_t n = 0; n < count; ++n) {
      if (graph_.nodes[n].op->name == "RoundTo" && grids_.is_half(graph_.nodes[n].outputs[0])) {
        store(n);
      } else if (carries(graph_.nodes[n])) {
        carry(graph_.nodes[n]);
      } else {
        widen(n);
      }
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

  // A move between values that all are stored.
  bool carries(const Node& node) const {
    const std::vector<size_t> from = moved_inputs(graph_, node);
    return !from.empty() &&
           std::ranges::all_of(from, [&](size_t i) { return grids_.is_half(node.inputs[i]); }) &&
           std::ranges::all_of(node.outputs, [&](ValueId id) { return grids_.is_half(id); });
  }
  bool all_take(ValueId id) const {
    // What codes alone are made of is codes from its maker on.
    const s32 only = uses_.only_consumer(id);
    if (only >= 0 && is_plain_quantize(graph_, graph_.nodes[static_cast<size_t>(only)]))
      return false;
    return !uses_.is_output(id) && !uses_.consumers(id).empty() &&
           std::ranges::all_of(uses_.consumers(id), [&](u32 n) {
             const Node& node = graph_.nodes[n];
             return carries(node) || takes_half(graph_, node, id, precision_of(grids_.of(id)));
           });
  }
  // Whether a result turned out to be none that is stored.
  bool drop_results(const Node& node) {
    bool dropped = false;
    const bool made = node.op->name == "RoundTo" || carries(node);
    for (const ValueId id : node.outputs) {
      if (id != kNoValue && grids_.is_half(id) && !(made && all_take(id)))
        dropped = grids_.drop(id) || dropped;
    }
    return dropped;
  }
  // Both ways, so that a chain of moves is done with in one round, from whichever end it is dropped.
  bool drop_others() {
    bool dropped = false;
    for (const Node& node : graph_.nodes) dropped = drop_results(node) || dropped;
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node)
      dropped = drop_results(*node) || dropped;
    return dropped;
  }

  static Node cast(const Node& beside, ValueId from, ValueId to, Dtype type, std::string name) {
    Node node = node_beside(beside, find_op("Cast"), std::move(name), {from});
    node.outputs = {to};
    set_attribute<&CastAttributes::to>(node.attrs, type);
    return node;
  }
  ValueId stored(ValueId id) {
    if (stored_[id] == kNoValue)
      stored_[id] = graph_.add_value(graph_.value(id).name + ".stored",
                                     {grids_.of(id), graph_.value(id).type.shape});
    return stored_[id];
  }

  void store(size_t n) {
    const Node round = graph_.nodes[n];
    const ValueId id = round.outputs[0], to = stored(id);
    graph_.nodes[n] = cast(round, round.inputs[0], to, grids_.of(id), round.name);
  }
  void carry(Node& node) {
    for (const size_t i : moved_inputs(graph_, node)) node.inputs[i] = stored(node.inputs[i]);
    for (ValueId& id : node.outputs) id = stored(id);
  }
  // Each reader has a cast of its own.
  void widen(size_t n) {
    for (size_t i = 0; i < graph_.nodes[n].inputs.size(); ++i) {
      const ValueId id = graph_.nodes[n].inputs[i];
      if (id == kNoValue || !grids_.is_half(id)) continue;
      const Value value = graph_.value(id);
      const ValueId own =
          graph_.add_value(fmt::format("{}.read{}", value.name, reads_[id]++), value.type);
      const Node& maker = graph_.nodes[static_cast<size_t>(uses_.producer(id))];
      edit_.insert_before(n, cast(maker, stored(id), own, Dtype::f32, graph_.value(own).name));
      std::ranges::replace(graph_.nodes[n].inputs, id, own);
    }
  }

  Graph& graph_;
  const Uses uses_;
  Grids grids_;
  std::vector<ValueId> stored_;  // of each value in 16 bits
  std::vector<int> reads_;       // of each value, by casts
  GraphEdit edit_;
};

}  // namespace

std::vector<size_t> moved_inputs(const Graph& graph, const Node& node) {
  if (node.op->quant.kind != QuantKind::move_codes) return {};
  if (node.op->name == "Resize" && !resize_moves_elements(node)) return {};
  if (node.op->name == "Pad" && node.input(2) != kNoValue) return {};  // a value of f32
  const bool image = graph.value(node.inputs[0]).type.shape.rank() == 4;
  if (node.op->name == "MaxPool" && (node.outputs.size() > 1 || !image)) return {};
  if (node.op->quant.moved_input >= 0) return {static_cast<size_t>(node.op->quant.moved_input)};
  std::vector<size_t> all(node.inputs.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

Number number_of(Dtype type) {
  switch (type) {
    case Dtype::f16:
      return Number::f16;
    case Dtype::bf16:
      return Number::bf16;
    case Dtype::u8:
      return Number::u8;
    case Dtype::s8:
      return Number::s8;
    default:
      return Number::f32;
  }
}

Number rounding_of(const Graph& graph, const Node& node) {
  return number_of(node.op->name == "RoundTo" ? attribute_of<&CastAttributes::to>(node)
                                              : graph.value(node.outputs[0]).type.dtype);
}

bool is_product_of_values(const Graph& graph, const Node& node) {
  return node.op->name == "MatMul" && node.inputs.size() == 2 &&
         activation_of(node).kind == Activation::Kind::none &&
         std::ranges::none_of(node.inputs, [&](ValueId id) { return graph.is_constant(id); });
}

bool is_read_once(const Graph& graph, const Uses& uses, ValueId id) {
  const s32 reader = uses.only_consumer(id);
  return reader >= 0 &&
         std::ranges::count(graph.nodes[static_cast<size_t>(reader)].inputs, id) == 1;
}

bool is_widening(const Graph& graph, const Node& node) { return is_cast(graph, node, true); }
bool is_narrowing(const Graph& graph, const Node& node) { return is_cast(graph, node, false); }

namespace {

// The node of such a kind with the casts of what it reads, and the rounding or the cast of what it gives, from its last node on; empty where there is none.
std::vector<u32> with_casts(const Graph& graph, const Uses& uses, u32 last,
                            bool (*is)(const Graph&, const Node&)) {
  std::vector<u32> chain{last};
  u32 function = last;
  if (is_narrowing(graph, graph.nodes[last]) || graph.nodes[last].op->name == "RoundTo") {
    const s32 from = uses.producer(graph.nodes[last].input(0));
    if (from < 0) return {};
    chain.push_back(function = static_cast<u32>(from));
  }
  const Node& node = graph.nodes[function];
  if (!is(graph, node)) return {};
  for (const ValueId id : node.inputs) {
    const s32 from = id == kNoValue ? -1 : uses.producer(id);
    if (from >= 0 && is_widening(graph, graph.nodes[static_cast<size_t>(from)]) &&
        is_read_once(graph, uses, id))
      chain.push_back(static_cast<u32>(from));
  }
  std::ranges::sort(chain);
  return chain;
}

}  // namespace

std::vector<u32> find_half_average(const Graph& graph, const Uses& uses, u32 last) {
  return with_casts(graph, uses, last, averages_halves);
}
std::vector<u32> find_half_reduction(const Graph& graph, const Uses& uses, u32 last) {
  return with_casts(graph, uses, last, reduces_halves);
}

HalfEnds half_ends(const LowerRequest& request) {
  const Graph& body = chain_body(request.node);
  HalfEnds ends{.x = request.inputs[0].dtype, .y = request.outputs[0].dtype, .part = 0};
  while (is_widening(body, body.nodes[ends.part])) ++ends.part;
  const Node& last = body.nodes.back();
  if (last.op->name == "RoundTo") ends.rounded = attribute_of<&CastAttributes::to>(last);
  return ends;
}

bool reads_rounded_codes(const Graph& graph, const Node& product, const Node& round) {
  if (takes_halves(graph, product)) return true;
  if (product.op->name != "Conv" && product.op->name != "MatMul") return false;
  if (product.input(kResidual) == round.outputs[0]) return true;
  if (product.inputs[kX] != round.outputs[0]) return false;
  return attribute_of<&CastAttributes::to>(round) == Dtype::f16 || is_depthwise(graph, product);
}

void store_halves(Graph& graph) {
  drop_roundings(graph);
  Storer(graph).run();
}

}  // namespace octet::cuda
