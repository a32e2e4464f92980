// SPDX-License-Identifier: Apache-2.0
#include "runtime/stored_halves.h"

#include <algorithm>
#include <bit>

#include "core/check.h"
#include "graph/graph_edit.h"
#include "graph/op_def.h"
#include "ops/attributes/codes.h"
#include "ops/registry.h"

namespace octet {
namespace {

constexpr std::string_view kMark = "stored";
constexpr s64 kFewest = 64;  // elements that are worth a node

// f16 or bf16 where every reader is a layer of that type; else none.
Precision type_of_readers(const Graph& graph, const Uses& uses, ValueId id) {
  Precision type = Precision::none;
  for (const u32 reader : uses.consumers(id)) {
    const Precision own = graph.nodes[reader].decision.precision;
    if (own != Precision::f16 && own != Precision::bf16) return Precision::none;
    if (type != Precision::none && type != own) return Precision::none;
    type = own;
  }
  return type;
}

// Empty where an element is no value of the type.
template <class Half>
Tensor narrowed(const Tensor& real, Dtype dtype) {
  Tensor result(dtype, real.shape());
  const auto x = real.as<f32>();
  const auto y = result.mutable_as<Half>();
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = Half(x[i]);
    if (std::bit_cast<u32>(static_cast<f32>(y[i])) != std::bit_cast<u32>(x[i])) return {};
  }
  return result;
}

Tensor narrowed(const Tensor& real, Precision type) {
  return type == Precision::f16 ? narrowed<f16>(real, Dtype::f16)
                                : narrowed<bf16>(real, Dtype::bf16);
}

}  // namespace

bool has_halves(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.decision.precision == Precision::f16 || node.decision.precision == Precision::bf16;
  });
}

Graph with_stored_halves(Graph graph) {
  const Uses uses(graph);
  GraphEdit edit(graph);
  const auto count = static_cast<ValueId>(graph.value_count());
  for (ValueId id = 0; id < count; ++id) {
    if (!graph.is_constant(id) || uses.is_output(id)) continue;
    const Tensor real = graph.value(id).constant;
    if (real.dtype() != Dtype::f32 || real.elements() < kFewest) continue;
    const Precision type = type_of_readers(graph, uses, id);
    if (type == Precision::none) continue;
    Tensor half = narrowed(real, type);
    if (!half) continue;
    const std::string name = graph.value(id).name;
    Node cast;
    cast.op = find_op("Cast");
    cast.name = name + ".widened";
    cast.inputs = {graph.add_constant(name + ".stored", std::move(half))};
    cast.outputs = {id};
    set_attribute<&CastAttributes::to>(cast.attrs, Dtype::f32);
    cast.attrs.set(kMark, s64{1});
    graph.value(id).constant = {};
    edit.insert_first(std::move(cast));
  }
  edit.apply();
  return graph;
}

void widen_stored_halves(Graph& graph) {
  const OpDef* cast = find_op("Cast");
  std::vector<u32> gone;
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op != cast || node.attrs.find(kMark) == nullptr) continue;
    const Tensor* half = graph.constant_input(node, 0);
    if (half == nullptr) continue;
    Value& value = graph.value(node.outputs[0]);
    Tensor wide = eval_node(node, {half, 1})[0];
    if (wide.type() != value.type) {
      fail(Error::Code::invalid_model, "weights '{}' are stored as {}, and not as {}", value.name,
           to_string(wide.type()), to_string(value.type));
    }
    value.constant = std::move(wide);
    gone.push_back(n);
  }
  if (gone.empty()) return;
  erase_nodes(graph, gone);
  graph.compact();
}

}  // namespace octet
