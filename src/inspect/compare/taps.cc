// SPDX-License-Identifier: Apache-2.0
#include "inspect/compare/taps.h"

#include <string_view>
#include <unordered_map>

#include "core/check.h"
#include "graph/op_def.h"
#include "ops/registry.h"

namespace octet {
namespace {

bool is_code(const Value& value) {
  return value.quant && (value.type.dtype == Dtype::u8 || value.type.dtype == Dtype::s8);
}

Tensor zero_point_tensor(Dtype dtype, s32 zero_point) {
  return dtype == Dtype::u8 ? Tensor::scalar(static_cast<u8>(zero_point))
                            : Tensor::scalar(static_cast<s8>(zero_point));
}

ValueId dequantized(Graph& graph, ValueId codes) {
  const Value source = graph.value(codes);
  Node node;
  node.op = find_op("DequantizeLinear");
  OCTET_CHECK(node.op != nullptr);
  node.name = source.name + "/tap";
  node.inputs = {
      codes, graph.add_constant(source.name + "/scale", Tensor::scalar(source.quant->scale)),
      graph.add_constant(source.name + "/zero_point",
                         zero_point_tensor(source.type.dtype, source.quant->zero_point))};
  const ValueId real = graph.add_value(node.name, {Dtype::f32, source.type.shape});
  node.outputs = {real};
  node.decision = {Precision::f32, ReasonCode::inspected_value, "shows an inner value"};
  graph.nodes.push_back(std::move(node));
  return real;
}

}  // namespace

std::vector<std::string> tappable_values(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id == kNoValue || graph.is_constant(id)) continue;
      const Value& value = graph.value(id);
      if (value.type.dtype == Dtype::f32 || is_code(value)) names.push_back(value.name);
    }
  }
  return names;
}

Graph tap_graph(const Graph& graph, std::span<const std::string> names) {
  std::unordered_map<std::string_view, ValueId> ids;
  for (ValueId id = 0; id < graph.value_count(); ++id) ids.emplace(graph.value(id).name, id);
  Graph tapped = graph;
  tapped.outputs.clear();
  for (const std::string& name : names) {
    const auto at = ids.find(name);
    OCTET_CHECK(at != ids.end());
    const ValueId id = at->second;
    tapped.outputs.push_back(is_code(tapped.value(id)) ? dequantized(tapped, id) : id);
  }
  remove_dead_nodes(tapped);
  return tapped;
}

}  // namespace octet
