// SPDX-License-Identifier: Apache-2.0
// The types of results that are asked for. A node that only copies stands behind such a result while Q/DQ nodes are placed and fused: one
// in f32 keeps a QuantizeLinear behind it away from the layer, one in INT8 is a reader of codes, whoever else reads the result.
#include <algorithm>

#include "graph/graph_edit.h"
#include "ops/registry.h"
#include "precision/constraints.h"
#include "precision/precision.h"
#include "precision/roles.h"

namespace octet {
namespace {

// No plugin can declare a name of the host, and what a model file says of it is dropped before it is set.
constexpr std::string_view kMark = "octet.asked_result";

Decision decision_of(const LayerRequest& request) {
  const bool codes = request.output == Precision::int8;
  return {request.output, codes ? ReasonCode::moves_codes : ReasonCode::kept_by_user,
          codes ? "moves codes; the scale stays" : "kept in f32 by the user"};
}

// INT8 without a range is none, and neither is a result that the caller reads.
bool can_stand(const Graph& graph, const Uses& uses, const Node& node, const LayerRequest& request,
               const Ranges& ranges) {
  if (request.output != Precision::int8 && request.output != Precision::f32) return false;
  const ValueId id = node.outputs[0];
  if (id == kNoValue || uses.is_output(id) || uses.consumers(id).empty() ||
      !is_real_activation(graph, id))
    return false;
  const auto range = ranges.find(id);
  return range != ranges.end() && range->second.threshold > 0;
}

}  // namespace

void mark_results(Graph& graph, std::span<const LayerRequest> requests, Ranges& ranges) {
  for (Node& node : graph.nodes) node.attrs.erase(kMark);
  if (requests.empty()) return;
  const Uses uses(graph);
  GraphEdit edit(graph);
  std::vector<std::pair<ValueId, ValueId>> copies;
  for (size_t n = 0; n < requests.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!can_stand(graph, uses, node, requests[n], ranges)) continue;
    const ValueId id = node.outputs[0];
    const std::string name = graph.value(id).name + ".result";
    Node copy{.op = find_op("Identity"),
              .name = name,
              .inputs = {id},
              .outputs = {graph.add_value(name, TensorType(graph.value(id).type))},
              .attrs = {},
              .origins = {},
              .decision = decision_of(requests[n])};
    copy.attrs.set(kMark, s64{1});
    copies.emplace_back(id, copy.outputs[0]);
    ranges[copy.outputs[0]] = Range(ranges.at(id));
    edit.insert_after(n, std::move(copy));
  }
  for (const auto& [from, to] : copies) {
    for (const u32 reader : uses.consumers(from))
      std::ranges::replace(graph.nodes[reader].inputs, from, to);
  }
  edit.apply();
}

void drop_marks(Graph& graph) {
  std::vector<u32> gone;
  std::vector<std::pair<ValueId, ValueId>> copies;
  const Uses uses(graph);
  const OpDef* identity = find_op("Identity");
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    // Builds without INT8 set no marks: what a model file calls one is none unless dropping it changes nothing.
    if (node.op != identity || node.attrs.i(kMark, 0) == 0 || uses.is_output(node.outputs[0]))
      continue;
    copies.emplace_back(node.outputs[0], node.inputs[0]);
    gone.push_back(n);
  }
  if (gone.empty()) return;
  for (const auto& [copy, original] : copies) {
    for (const u32 reader : uses.consumers(copy))
      std::ranges::replace(graph.nodes[reader].inputs, copy, original);
  }
  erase_nodes(graph, gone);
}

}  // namespace octet
