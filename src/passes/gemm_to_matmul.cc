// SPDX-License-Identifier: Apache-2.0
// Gemm with constant B and a bias per column becomes MatMul(a, b, bias), the one form of a fully connected layer.
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

Tensor transposed(const Tensor& b) {
  const s64 rows = b.shape()[0], columns = b.shape()[1];
  Tensor result(Dtype::f32, {columns, rows});
  auto src = b.as<f32>();
  auto dst = result.mutable_as<f32>();
  for (s64 r = 0; r < rows; ++r) {
    for (s64 c = 0; c < columns; ++c)
      dst[static_cast<size_t>(c * rows + r)] = src[static_cast<size_t>(r * columns + c)];
  }
  return result;
}

// C of a Gemm as a bias of N elements: absent, [N] or [1,N].
bool is_column_bias(const Graph& graph, const Node& node, s64 columns) {
  if (node.input(2) == kNoValue) return true;
  const Tensor* c = graph.constant_input(node, 2);
  if (c == nullptr || c->dtype() != Dtype::f32 || c->elements() != columns) return false;
  return c->shape().rank() >= 1 && c->shape()[c->shape().rank() - 1] == columns;
}

bool plain_scales(const Node& node) {
  return node.attrs.f("alpha", 1.0f) == 1.0f && node.attrs.f("beta", 1.0f) == 1.0f &&
         node.attrs.i("transA", 0) == 0;
}

}  // namespace

void gemm_to_matmul(Graph& graph, Rewrites& rewrites) {
  for (Node& node : graph.nodes) {
    if (!is_op(node, "Gemm") || !plain_scales(node)) continue;
    const Tensor* b = graph.constant_input(node, 1);
    if (b == nullptr || b->dtype() != Dtype::f32 || b->shape().rank() != 2) continue;
    const bool trans_b = node.attrs.i("transB", 0) != 0;
    const s64 columns = b->shape()[trans_b ? 0 : 1];
    if (!is_column_bias(graph, node, columns) || !rewrites.allow()) continue;
    if (trans_b) {
      const std::string name = graph.value(node.inputs[1]).name + ".transposed";
      node.inputs[1] = graph.add_constant(name, transposed(*b));
    }
    if (const Tensor* c = graph.constant_input(node, 2); c != nullptr && c->shape().rank() != 1) {
      const std::string name = graph.value(node.inputs[2]).name + ".bias";
      node.inputs[2] = graph.add_constant(name, c->reshaped({columns}));
    }
    node.op = find_op("MatMul");
    node.attrs = {};
  }
}

}  // namespace octet
