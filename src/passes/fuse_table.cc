// SPDX-License-Identifier: Apache-2.0
// A QTable after QConv, QMatMul or another QTable becomes part of it: the codes are the same, one pass over memory less.
// Operators that only move elements may stand between (the Reshape that makes a MatMul of rows a Gemm).
#include <optional>

#include "graph/op_traits.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/zero_points.h"
#include "passes/match.h"
#include "passes/moved.h"
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
  if (is_table(node)) return 1;
  if (has_fine_table(node)) return 0;
  const bool codes = attribute_of<&OutputCodesAttributes::output_dtype>(node) != Dtype::f32;
  return node.op->traits->product_epilogue && codes && node.input(kProductAddend) == kNoValue
             ? size_t{kProductTable}
             : 0;
}

bool takes_table(const Graph&, const Node& node) { return table_input(node) != 0; }

// `before` with `second` behind the table that it may have.
Node with_table(Graph& graph, const Node& before, const Node& table, const Tensor& second) {
  Node fused = before;
  const size_t slot = table_input(fused);
  const Tensor* first = graph.constant_input(fused, slot);
  if (fused.inputs.size() <= slot) fused.inputs.resize(slot + 1, kNoValue);
  fused.inputs[slot] = first == nullptr
                           ? table.inputs[1]
                           : graph.add_constant(table.name + ".composed", compose(*first, second));
  return fused;
}

}  // namespace

void fuse_table(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& table : graph.nodes) {
    const Tensor* second = is_table(table) ? graph.constant_input(table, 1) : nullptr;
    if (second == nullptr) continue;
    const std::optional<MovedSource> source =
        moved_source(graph, uses, table.inputs[0], takes_table);
    if (!source || !rewrites.allow()) continue;
    replace_behind_moves(graph, *source, with_table(graph, *source->node, table, *second), table);
  }
}

}  // namespace octet
