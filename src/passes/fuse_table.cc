// SPDX-License-Identifier: Apache-2.0
// A QTable after QConv, QMatMul or another QTable becomes part of it: the codes are the same, one pass over memory less.
#include "ops/epilogue.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// second[first[i]], where `first` holds codes of the dtype that indexes `second`.
Tensor compose(const Tensor& first, const Tensor& second) {
  Tensor result(second.dtype(), {256});
  for (size_t i = 0; i < 256; ++i) {
    const s32 code = code_at(view(first), i);
    result.mutable_data()[i] = second.data()[table_index(code, first.dtype())];
  }
  return result;
}

// Which input of the node is its table; 0 when it takes none.
size_t table_input(const Node& node) {
  if (is_op(node, "QTable")) return 1;
  const bool product = is_op(node, "QConv") || is_op(node, "QMatMul");
  return product && node.attrs.s("output_dtype", "u8") != "f32" ? size_t{kProductTable} : 0;
}

}  // namespace

void fuse_table(Graph& graph, Rewrites& rewrites) {
  const Uses uses(graph);
  for (Node& table : graph.nodes) {
    if (!is_op(table, "QTable")) continue;
    const Node* before = producer_of(graph, uses, table.inputs[0]);
    const Tensor* second = graph.constant_input(table, 1);
    if (before == nullptr || second == nullptr || table_input(*before) == 0) continue;
    if (only_reader(graph, uses, table.inputs[0]) == nullptr || !rewrites.allow()) continue;
    Node fused = *before;
    const size_t slot = table_input(fused);
    const Tensor* first = graph.constant_input(fused, slot);
    if (fused.inputs.size() <= slot) fused.inputs.resize(slot + 1, kNoValue);
    fused.inputs[slot] =
        first == nullptr ? table.inputs[1]
                         : graph.add_constant(table.name + ".composed", compose(*first, *second));
    replace_fused(table, std::move(fused), *before);
  }
}

}  // namespace octet
