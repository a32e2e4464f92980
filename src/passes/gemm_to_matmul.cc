// SPDX-License-Identifier: Apache-2.0
// Gemm with constant B (f32, or codes of a Q/DQ model) and a bias per column becomes MatMul(a, b, bias), the one form
// of a fully connected layer.
#include <cstring>

#include "ops/attributes/codes.h"
#include "ops/attributes/products.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

Tensor transposed(const Tensor& b) {
  const size_t rows = static_cast<size_t>(b.shape()[0]),
               columns = static_cast<size_t>(b.shape()[1]);
  const size_t size = dtype_bytes(b.dtype());
  Tensor result(b.dtype(), {b.shape()[1], b.shape()[0]});
  const std::byte* src = b.data();
  std::byte* dst = result.mutable_data();
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c)
      std::memcpy(&dst[(c * rows + r) * size], &src[(r * columns + c) * size], size);
  }
  return result;
}

// The DequantizeLinear of constant codes behind an input of an explicit Q/DQ model, or null.
Node* dequantized_constant(Graph& graph, const Uses& uses, ValueId id) {
  Node* node = id == kNoValue ? nullptr : producer_of(graph, uses, id);
  if (node == nullptr || !is_dequantize(*node)) return nullptr;
  return graph.constant_input(*node, 0) == nullptr ? nullptr : node;
}

// C of a Gemm as a bias of N elements: absent, [N] or [1,N]; behind a DequantizeLinear only [N].
bool is_column_bias(Graph& graph, const Uses& uses, const Node& node, s64 columns) {
  if (node.input(2) == kNoValue) return true;
  const Shape& shape = graph.value(node.input(2)).type.shape;
  if (dequantized_constant(graph, uses, node.input(2)) != nullptr)
    return shape.rank() == 1 && shape[0] == columns;
  const Tensor* c = graph.constant_input(node, 2);
  if (c == nullptr || c->dtype() != Dtype::f32 || c->elements() != columns) return false;
  return c->shape().rank() >= 1 && c->shape()[c->shape().rank() - 1] == columns;
}

// B as a matrix that is known now: an f32 constant, or constant codes behind a DequantizeLinear; else null.
const Tensor* constant_matrix(Graph& graph, const Uses& uses, const Node& node) {
  const Node* dequantize = dequantized_constant(graph, uses, node.inputs[1]);
  const Tensor* b = graph.constant_input(dequantize == nullptr ? node : *dequantize,
                                         dequantize == nullptr ? 1 : 0);
  if (b == nullptr || b->shape().rank() != 2) return nullptr;
  if (dequantize != nullptr) return is_code(b->dtype()) ? b : nullptr;
  return b->dtype() == Dtype::f32 ? b : nullptr;
}

// Codes can be transposed where they lie when nobody else reads them, and scales follow one axis at most.
bool can_transpose(Graph& graph, const Uses& uses, const Node& node) {
  const Node* dequantize = dequantized_constant(graph, uses, node.inputs[1]);
  if (dequantize == nullptr) return true;
  const Tensor* scale = graph.constant_input(*dequantize, 1);
  return scale != nullptr && scale->shape().rank() <= 1 &&
         only_reader(graph, uses, node.inputs[1]) != nullptr;
}

void transpose_weights(Graph& graph, const Uses& uses, Node& node) {
  Node* dequantize = dequantized_constant(graph, uses, node.inputs[1]);
  ValueId& source = dequantize == nullptr ? node.inputs[1] : dequantize->inputs[0];
  const Tensor result = transposed(graph.value(source).constant);
  source = graph.add_constant(graph.value(source).name + ".transposed", result);
  if (dequantize == nullptr) return;
  const s64 axis = attribute_of<&ScaleAttributes::axis>(*dequantize);
  set_attribute<&ScaleAttributes::axis>(dequantize->attrs, 1 - (axis < 0 ? axis + 2 : axis));
  graph.value(node.inputs[1]).type.shape = result.shape();
}

bool plain_scales(const Node& node) {
  return attribute_of<&GemmAttributes::alpha>(node) == 1.0f &&
         attribute_of<&GemmAttributes::beta>(node) == 1.0f &&
         !attribute_of<&GemmAttributes::transA>(node);
}

}  // namespace

void gemm_to_matmul(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& node : graph.nodes) {
    if (!is_op(node, "Gemm") || !plain_scales(node)) continue;
    const Tensor* b = constant_matrix(graph, uses, node);
    if (b == nullptr) continue;
    const bool trans_b = attribute_of<&GemmAttributes::transB>(node);
    const s64 columns = b->shape()[trans_b ? 0 : 1];
    if (trans_b && !can_transpose(graph, uses, node)) continue;
    if (!is_column_bias(graph, uses, node, columns) || !rewrites.allow()) continue;
    if (trans_b) transpose_weights(graph, uses, node);
    if (const Tensor* c = graph.constant_input(node, 2); c != nullptr && c->shape().rank() != 1) {
      const std::string name = graph.value(node.inputs[2]).name + ".bias";
      node.inputs[2] = graph.add_constant(name, c->reshaped({columns}));
    }
    node.op = find_op("MatMul");
    node.attrs = {};
  }
}

}  // namespace octet
