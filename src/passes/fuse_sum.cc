// SPDX-License-Identifier: Apache-2.0
// A QAdd after QConv or QMatMul by constant weights becomes its last stage: the same two roundings, one pass over memory
// less. A constant row of the sum (a bias with Q/DQ of its own) may be the addend of a product.
// Kernels for two activations and depthwise ones add nothing.
#include <string>
#include <utility>
#include <vector>

#include "ops/attributes/activation.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/window.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/zero_points.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/sides.h"

namespace octet {
namespace {

bool is_depthwise(const Node& product, const Tensor& weights) {
  return conv_groups(product) > 1 && weights.shape().rank() > 1 && weights.shape()[1] == 1;
}

// A constant for each column of the product: a bias that has Q/DQ of its own.
bool is_row(const Graph& graph, ValueId id, const Shape& product) {
  if (!graph.is_constant(id) || product.rank() < 1) return false;
  const Shape& shape = graph.value(id).type.shape;
  const s64 columns = product[product.rank() - 1];
  return shape.rank() > 0 && shape.elements() == columns && shape[shape.rank() - 1] == columns;
}

// The product behind one operand of the addition, if it can take the other operand.
const Node* product_behind(Graph& graph, const Uses& uses, const Node& add, size_t side) {
  const ValueId own = add.inputs[side], addend = add.inputs[1 - side];
  const Node* product = producer_of(graph, uses, own);
  if (product == nullptr || !product->op->traits->product_epilogue) return nullptr;
  const Tensor* weights = graph.constant_input(*product, kProductWeights);
  if (weights == nullptr || is_depthwise(*product, *weights)) return nullptr;
  if (only_reader(graph, uses, own) == nullptr || own == addend) return nullptr;
  if (product->input(kProductResidual) != kNoValue || product->input(kProductAddend) != kNoValue)
    return nullptr;
  const Shape& shape = graph.value(own).type.shape;
  if (shape.is_unknown() || graph.value(add.outputs[0]).type.shape != shape) return nullptr;
  const bool row = is_op(*product, "QMatMul") && is_row(graph, addend, shape);
  if (!row && (graph.is_constant(addend) || graph.value(addend).type.shape != shape))
    return nullptr;
  if (product->input(kProductTable) != kNoValue)
    return graph.is_constant(product->input(kProductTable)) ? product : nullptr;
  const bool one_zero = attribute_of<&OutputCodesAttributes::output_zero_point>(*product) ==
                        input_zero_point(add, side);
  return one_zero ? product : nullptr;
}

// What the product itself makes is u8 wherever an addend follows. Returns what its zero point has moved by.
s32 to_u8(Graph& graph, Node& product, ValueId own) {
  if (attribute_of<&OutputCodesAttributes::output_dtype>(product) == Dtype::s8)
    own_codes_as_u8(graph, product);
  if (graph.value(own).type.dtype == Dtype::u8) return 0;
  if (has_fine_table(product)) return kS8ToU8;
  if (const Tensor* table = graph.constant_input(product, kProductTable))
    product.inputs[kProductTable] =
        graph.add_constant(product.name + ".table", codes_as_u8(*table));
  return kS8ToU8;
}

// The constant as one row of u8 codes.
ValueId u8_row(Graph& graph, ValueId id) {
  const Tensor& codes = graph.value(id).constant;
  const Tensor row = codes.dtype() == Dtype::s8 ? codes_as_u8(codes) : codes;
  return graph.add_constant(graph.value(id).name + ".row", row.reshaped({codes.elements()}));
}

Node fused(Graph& graph, const Node& product, const Node& add, size_t side) {
  Node node = product;
  node.inputs.resize(kProductAddend + 1, kNoValue);
  node.inputs[kProductAddend] = add.inputs[1 - side];
  const bool row = graph.is_constant(add.inputs[1 - side]);
  if (row) node.inputs[kProductAddend] = u8_row(graph, add.inputs[1 - side]);
  set_input_zero_point(node, kProductAddend, input_zero_point(add, 1 - side));
  const bool moved = row && graph.value(add.inputs[1 - side]).type.dtype == Dtype::s8;
  if (moved) read_as_u8(node, kProductAddend);
  const std::vector<f32> multipliers = attribute_of<&QAddAttributes::multipliers>(add);
  set_attribute<&SumAttributes::sum_multipliers>(node.attrs,
                                                 {multipliers[side], multipliers[1 - side]});
  set_attribute<&SumAttributes::sum_addend_first>(node.attrs, side == 1);
  set_attribute<&SumAttributes::sum_own_zero_point>(
      node.attrs, input_zero_point(add, side) + to_u8(graph, node, add.inputs[side]));
  const Epilogue sum = epilogue_of(add);
  set_sum_codes(node, sum.output_dtype, sum.range);
  return node;
}

}  // namespace

void fuse_sum(Graph& graph, Rewrites& rewrites) {
  const Uses& uses = rewrites.uses(graph);
  for (Node& add : graph.nodes) {
    if (!is_op(add, "QAdd") || has_activation(add)) continue;
    for (const size_t side : later_side_first(uses, add)) {
      const Node* product = product_behind(graph, uses, add, side);
      if (product == nullptr) continue;
      if (!rewrites.allow()) return;
      replace_fused(add, fused(graph, *product, add, side), *product);
      break;
    }
  }
}

}  // namespace octet
