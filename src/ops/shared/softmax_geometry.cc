// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/axes.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/softmax.h"

namespace octet {

SoftmaxGeometry softmax_geometry(const Node& node, const Shape& shape) {
  const bool flatten = node.attrs.i("flatten", 0) != 0;
  // Flattening at axis = rank leaves rows of one element; only the older opsets allow it.
  const s64 wanted = node.attrs.i("axis", -1);
  if (flatten && wanted == shape.rank()) return {shape.elements(), 1, 1};
  const int axis = normalize_axis(wanted, shape.rank());
  const int end = flatten ? shape.rank() : axis + 1;
  return {dims_product(shape, 0, axis), dims_product(shape, axis, end),
          dims_product(shape, end, shape.rank())};
}

void parse_softmax(NodeParser& parser) {
  if (parser.opset >= 13) return;
  const s64 axis = parser.node.attrs.i("axis", 1);
  parser.node.attrs.set("axis", axis);
  // Over the last axis alone both meanings agree.
  if (axis != -1) parser.node.attrs.set("flatten", s64{1});
}

void infer_softmax(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  softmax_geometry(inference.node, inference.inputs[0].shape);
  inference.same_as_input(0);
}

}  // namespace octet
