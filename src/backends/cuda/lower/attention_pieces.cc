// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/attention_pieces.h"

#include <fmt/format.h>

#include "backends/cuda/families/attention/attention.h"
#include "ops/quantized/epilogue.h"

namespace octet::cuda {

std::vector<u32> find_attention_or_pieces(const Graph& graph, const Uses& uses, u32 last) {
  std::vector<u32> nodes = find_attention(graph, uses, last);
  if (!nodes.empty() || graph.nodes[last].op->name != "QMatMul") return nodes;
  constexpr size_t kMostPieces = 8;
  const auto before = [&](u32 n, size_t input) {
    const ValueId id = graph.nodes[n].input(input);
    return id == kNoValue || graph.is_constant(id) ? -1 : uses.producer(id);
  };
  const auto is_softmax = [&](s32 n) {
    return n >= 0 && graph.nodes[static_cast<size_t>(n)].op->name.ends_with("Softmax");
  };
  s32 softmax = before(last, kProductX);
  nodes = {last};
  if (softmax >= 0 && !is_softmax(softmax)) {  // what makes codes of it
    nodes.insert(nodes.begin(), static_cast<u32>(softmax));
    softmax = before(nodes[0], 0);
  }
  if (!is_softmax(softmax)) return {};
  nodes.insert(nodes.begin(), static_cast<u32>(softmax));
  for (s32 n = before(nodes[0], 0); n >= 0 && nodes.size() < kMostPieces; n = before(nodes[0], 0)) {
    nodes.insert(nodes.begin(), static_cast<u32>(n));
    if (graph.nodes[nodes[0]].op->name.ends_with("MatMul")) return nodes;
  }
  return {};
}

std::string why_in_pieces(const Graph& graph) {
  const auto is_end = [](const Node& node, std::string_view op) { return node.op->name == op; };
  const Node& scores = graph.nodes.front();
  if (!is_end(scores, "QMatMul"))
    return fmt::format("scores are no product of codes but of {}", describe(scores));
  for (size_t i = 1; i + 1 < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (is_end(node, "QSoftmax")) return "a sum before Softmax is none of scores and a mask";
    if (is_end(node, "Softmax"))
      return fmt::format("{} gives reals, which become codes behind it", describe(node));
    if (!is_end(node, "Add"))
      return fmt::format("{} stands between scores and Softmax", describe(node));
    if (is_end(graph.nodes[i + 1], "Add"))
      return fmt::format("more than one sum stands between scores and Softmax, {} first",
                         describe(node));
  }
  return "it is no attention of codes";
}

}  // namespace octet::cuda
