// SPDX-License-Identifier: Apache-2.0
// A QTable after QConv, QMatMul or another QTable becomes part of it: the codes are the same, one pass over memory less.
// Operators that only move elements may stand between (the Reshape that makes a MatMul of rows a Gemm).
#include <optional>

#include "graph/op_traits.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
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
  if (is_table(node)) return 1;
  const bool codes = attribute_of<&OutputCodesAttributes::output_dtype>(node) != Dtype::f32;
  return node.op->traits->product_epilogue && codes && node.input(kProductAddend) == kNoValue
             ? size_t{kProductTable}
             : 0;
}

// What makes the codes that a table reads, and the moves between, the last first.
struct Source {
  Node* node;
  std::vector<Node*> moves;
};

// Nothing when somebody else reads the codes on their way.
std::optional<Source> source_of(Graph& graph, const Uses& uses, ValueId id) {
  Source source{nullptr, {}};
  for (;;) {
    if (only_reader(graph, uses, id) == nullptr) return std::nullopt;
    Node* before = producer_of(graph, uses, id);
    if (before == nullptr) return std::nullopt;
    if (table_input(*before) != 0) {
      source.node = before;
      return source;
    }
    if (!before->op->traits->permutes) return std::nullopt;
    source.moves.push_back(before);
    id = before->inputs[0];
  }
}

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

// The moves now move the table's codes, the last of them in the table's place, which is left without a reader.
void put_before(Graph& graph, const Source& source, Node fused, Node& table) {
  const auto take_type = [&](ValueId id) {
    graph.value(id).type.dtype = graph.value(table.outputs[0]).type.dtype;
    graph.value(id).quant = graph.value(table.outputs[0]).quant;
  };
  append_origins(fused, table);
  take_type(fused.outputs[0]);
  *source.node = std::move(fused);
  for (Node* move : source.moves) take_type(move->outputs[0]);
  Node& last = *source.moves.front();
  Node moved = last;
  moved.outputs = table.outputs;
  table = std::move(moved);
}

}  // namespace

void fuse_table(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& table : graph.nodes) {
    const Tensor* second = is_table(table) ? graph.constant_input(table, 1) : nullptr;
    if (second == nullptr) continue;
    const std::optional<Source> source = source_of(graph, uses, table.inputs[0]);
    if (!source || !rewrites.allow()) continue;
    Node fused = with_table(graph, *source->node, table, *second);
    if (source->moves.empty()) {
      replace_fused(table, std::move(fused), *source->node);
    } else {
      put_before(graph, *source, std::move(fused), table);
    }
  }
}

}  // namespace octet
