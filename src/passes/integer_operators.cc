// SPDX-License-Identifier: Apache-2.0
// ONNX's integer operators whose scales, zero points or weights were computed (behind Identity or Cast) when the importer read
// them, and are constants now: read them again.
#include <algorithm>
#include <array>
#include <iterator>

#include "ops/shared/node_parser.h"
#include "passes/infer_types.h"
#include "passes/pass.h"

namespace octet {
namespace {

constexpr std::array kNames = {"ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"};
constexpr int kOpset = 21;  // these operators have one version

// The node in its integer form with what had to be added around it; false: it stays.
bool read_again(Graph& graph, Node node, std::vector<Node>& nodes) {
  std::vector<Node> before, after;
  const OpDef* op = node.op;
  NodeParser parser(graph, node, kOpset, before, after);
  op->parse(parser);
  const bool changed = node.op != op;
  for (Node& added : after) added.name += "_result";
  std::ranges::move(before, std::back_inserter(nodes));
  nodes.push_back(std::move(node));
  std::ranges::move(after, std::back_inserter(nodes));
  return changed;
}

}  // namespace

void integer_operators(Graph& graph, Rewrites& rewrites) {
  std::vector<Node> nodes;
  bool changed = false;
  for (Node& node : graph.nodes) {
    const bool candidate = std::ranges::find(kNames, node.op->name) != kNames.end();
    if (!candidate || !rewrites.allow()) {
      nodes.push_back(std::move(node));
      continue;
    }
    changed |= read_again(graph, std::move(node), nodes);
  }
  graph.nodes = std::move(nodes);
  if (changed) infer_types(graph, {.keep_dequantize = true});
}

}  // namespace octet
