// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/reduction.h"

#include <algorithm>

#include "ops/attributes/reduction.h"
#include "ops/shared/axes.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

// Whether each axis is reduced. No axes means all of them, or none with noop_with_empty_axes.
std::vector<bool> reduced_axes(const Node& node, int rank, std::span<const s64> axes) {
  const bool noop = attribute_of<&ReduceAttributes::noop_with_empty_axes>(node);
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty() && !noop);
  for (int axis : normalize_axes(axes, rank)) reduced[static_cast<size_t>(axis)] = true;
  return reduced;
}

s64 reduced_length(const Shape& input, const std::vector<bool>& reduced) {
  Shape row;
  for (int i = 0; i < input.rank(); ++i) {
    if (reduced[static_cast<size_t>(i)]) row.push_back(input[i]);
  }
  return row.elements();
}

Shape reduced_shape(const Node& node, const Shape& input, const std::vector<bool>& reduced) {
  const bool keep = attribute_of<&ReduceAttributes::keepdims>(node);
  Shape output;
  for (int i = 0; i < input.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) output.push_back(input[i]);
    if (reduced[static_cast<size_t>(i)] && keep) output.push_back(1);
  }
  return output;
}

}  // namespace

void parse_reduction(NodeParser& parser) { parser.ints_to_input("axes", 1); }

void parse_global_pool(NodeParser& parser, std::string_view reduction) {
  // The rank is not known yet, so the axes 2, 3, ... are shape arithmetic, which folds to a constant.
  const ValueId shape = parser.emit_before("Shape", {parser.required(0)});
  const ValueId rank = parser.emit_before("Size", {shape});
  const ValueId first = parser.add_constant(Tensor::scalar<s64>(2));
  const ValueId step = parser.add_constant(Tensor::scalar<s64>(1));
  parser.node.inputs.push_back(parser.emit_before("Range", {first, rank, step}));
  set_attribute<&ReduceAttributes::keepdims>(parser.node.attrs, true);
  set_attribute<&ReduceAttributes::noop_with_empty_axes>(parser.node.attrs, true);
  parser.become(reduction);
}

void infer_any_reduction(Inference& inference) {
  std::vector<s64> axes;
  if (inference.has_input(1)) axes = inference.required_ints(1, "the axes of a reduction");
  const TensorType& input = inference.inputs[0];
  const auto reduced = reduced_axes(inference.node, input.shape.rank(), axes);
  inference.output(input.dtype, reduced_shape(inference.node, input.shape, reduced));
}

void infer_reduction(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  infer_any_reduction(inference);
}

void infer_real_reduction(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  infer_any_reduction(inference);
}

ReductionRows reduction_rows(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const auto reduced = reduced_axes(eval.node, input.shape.rank(), read_ints(eval, 1));
  require_shape(eval.outputs[0].shape, reduced_shape(eval.node, input.shape, reduced));
  const std::vector<s64> strides = dense_strides(input.shape);
  ReductionRows rows{.moved = {}, .data = input.data, .count = 1, .length = 1};
  StridedView view;
  for (const bool pass : {false, true}) {
    for (int i = 0; i < input.shape.rank(); ++i) {
      if (reduced[static_cast<size_t>(i)] != pass) continue;
      view.shape.push_back(input.shape[i]);
      view.strides.push_back(strides[static_cast<size_t>(i)]);
    }
  }
  rows.count = eval.outputs[0].shape.elements();
  if (rows.count > 0) rows.length = reduced_length(input.shape, reduced);
  const bool in_place = std::is_sorted(reduced.begin(), reduced.end());
  if (in_place || input.shape.elements() == 0) return rows;
  rows.moved.resize(static_cast<size_t>(TensorType{input.dtype, input.shape}.bytes()));
  strided_copy(view, input.dtype, input.data, rows.moved.data());
  rows.data = rows.moved.data();
  return rows;
}

}  // namespace octet
