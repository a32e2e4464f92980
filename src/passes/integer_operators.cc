// SPDX-License-Identifier: Apache-2.0
// ONNX's integer operators whose scales, zero points or weights were computed (behind Identity or Cast) when the importer read
// them, and are constants now: read them again.
#include <algorithm>
#include <iterator>

#include "graph/graph_edit.h"
#include "graph/op_traits.h"
#include "ops/shared/node_parser.h"
#include "passes/infer_types.h"
#include "passes/pass.h"

namespace octet {
namespace {

constexpr int kOpset = 21;  // these operators have one version

// The node, in its integer form if it has one now, with what had to be added around it.
std::vector<Node> read_again(Graph& graph, Node node, bool& changed) {
  std::vector<Node> nodes, after;
  const OpDef* op = node.op;
  NodeParser parser(graph, node, kOpset, nodes, after);
  op->parse(parser);
  changed |= node.op != op;
  for (Node& added : after) added.name += "_result";
  nodes.push_back(std::move(node));
  std::ranges::move(after, std::back_inserter(nodes));
  return nodes;
}

}  // namespace

void integer_operators(Graph& graph, Rewrites& rewrites) {
  GraphEdit edit(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!node.op->traits->parse_again || !rewrites.allow()) continue;
    edit.replace(n, read_again(graph, node, changed));
  }
  edit.apply();
  if (changed) infer_types(graph, {.keep_dequantize = true, .budget = rewrites.folding()});
}

}  // namespace octet
