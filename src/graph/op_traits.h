// SPDX-License-Identifier: Apache-2.0
// What passes, planner and inspector ask of an operator beside its meaning. Each operator that differs from kPlainTraits
// has one constant-initialised OpTraits in its own file, so nobody else keeps lists of operators' names (docs/adr/0014).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/types.h"
#include "graph/float_attributes.h"
#include "graph/op_def.h"

namespace octet {

// One type for each input or output of a node; rank 0 where it is omitted.
using TensorTypes = std::span<const TensorType>;
using WorkFormula = f64 (*)(const Node&, TensorTypes inputs, TensorTypes outputs);

// Where an operator that reads or writes codes says what they mean. Of QuantKind::move_codes: in the values around it.
enum class CodeMeaning : u8 {
  unknown,     // nowhere
  attributes,  // input_zero_points, output_zero_point (ops/quantized/zero_points.h)
  table,       // input 1 holds a code for each code
  quantize,    // its output's in input 2
  dequantize,  // its first input's in input 2
};

struct OpTraits {
  // Multiplications of one run, for concrete types: those of matrix products and convolutions. Null: none.
  WorkFormula macs = nullptr;
  // At most so many elementary steps (a multiplication, a comparison) does `eval` take. Null: its multiplications, and one
  // step for each element that it reads or writes.
  WorkFormula work = nullptr;
  // The result follows from the types of the inputs: Shape.
  bool reads_types_only = false;
  // The attributes that hold the graphs which the operator runs: Loop.
  std::span<const std::string_view> bodies = {};
  // An element of the result follows from the elements in its place, inputs broadcast: Add. Operators of QuantKind::table
  // are so too, and need not say it.
  bool elementwise = false;
  // The result holds each element of input 0 once: Transpose.
  bool permutes = false;
  // Can apply an activation to what it makes (attributes of ops/shared/activation.h).
  bool takes_activation = false;
  // Its inputs are those of ops/quantized/epilogue.h: QConv.
  bool product_epilogue = false;
  // Scales and zero points are inputs; where they turn out constant, `parse` brings the node to a simpler form: QLinearConv.
  bool parse_again = false;
  CodeMeaning codes = CodeMeaning::unknown;
  // Throws Error(invalid_model) where the node contradicts what its values say of themselves. Null: it cannot.
  void (*verify)(const Graph&, const Node&) = nullptr;
  // Why a sum may pass the 32 bits that kernels add in, of nodes whose definition does not end there; empty where it cannot. Sizes of a run
  // decide, so a plan asks, for a graph whose types are known; the reference then runs the node. Null: it cannot.
  std::string (*wide_sums)(const Graph&, const Node&) = nullptr;
  // Float attributes that may be something else than graph/float_attributes.h says of their names.
  std::span<const FloatAttribute> floats = {};
  // What the attributes may be is for others to say: a plugin.
  bool foreign_attributes = false;
  // Of a product of reals: the integer operator that multiplies codes.
  const OpDef* integer_product = nullptr;
  // Of a step from reals to codes: the node's function of reals, whose result is nowhere. Null: it is no such step.
  Node (*function_of_reals)(const Node&) = nullptr;
  // The operator that computes the same rows of reals and writes codes.
  const OpDef* rows_as_codes = nullptr;
  // Of a recurrent layer of reals: the operator whose products are of codes. Its first input alone is read as codes, and its results stay real.
  const OpDef* recurrence_of_codes = nullptr;
  // Codes that are constant are weights, which stay s8 on every device, as a product's (product_epilogue) do.
  bool s8_weights = false;
};

inline bool has_body(const Node& node) { return !node.op->traits->bodies.empty(); }
inline bool is_quantize(const Node& node) {
  return node.op->traits->codes == CodeMeaning::quantize;
}
inline bool is_dequantize(const Node& node) {
  return node.op->traits->codes == CodeMeaning::dequantize;
}
// A unary function of codes as a table (QTable).
inline bool is_table(const Node& node) { return node.op->traits->codes == CodeMeaning::table; }

// Multiply-accumulates of one run of the node; 0 for operators that multiply no matrices.
s64 count_macs(const Node& node, TensorTypes inputs, TensorTypes outputs);
// An upper bound of the elementary steps of eval_node. f64: types of untrusted models pass 63 bits.
f64 work_of(const Node& node, TensorTypes inputs, TensorTypes outputs);

// The number of elements, 1 for a scalar; 0 where it is not known.
f64 element_count(const Shape& shape);

}  // namespace octet
