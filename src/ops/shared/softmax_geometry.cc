// SPDX-License-Identifier: Apache-2.0
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/softmax.h"

namespace octet {

SoftmaxGeometry softmax_geometry(const Node& node, const Shape& shape) {
  const auto [wanted, flatten] = attributes_of<SoftmaxAttributes>(node);
  // Flattening at axis = rank leaves rows of one element; only the older opsets allow it.
  if (flatten && wanted == shape.rank()) return {shape.elements(), 1, 1};
  const int axis = normalize_axis(wanted, shape.rank());
  const int end = flatten ? shape.rank() : axis + 1;
  return {dims_product(shape, 0, axis), dims_product(shape, axis, end),
          dims_product(shape, end, shape.rank())};
}

void parse_softmax(NodeParser& parser) {
  if (parser.opset >= 13) return;
  const s64 axis = parser.node.attrs.i("axis", 1);
  set_attribute<&SoftmaxAttributes::axis>(parser.node.attrs, axis);
  // Over the last axis alone both meanings agree.
  if (axis != -1) set_attribute<&SoftmaxAttributes::flatten>(parser.node.attrs, true);
}

void infer_softmax(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  softmax_geometry(inference.node, inference.inputs[0].shape);
  inference.same_as_input(0);
}

}  // namespace octet
