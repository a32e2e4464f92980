// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/elementwise.h"

#include "core/small_types.h"
#include "core/visit.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

Shape broadcast_all(const Inference& inference) {
  Shape shape = inference.inputs[0].shape;
  for (const TensorType& type : inference.inputs) shape = broadcast_shapes(shape, type.shape);
  return shape;
}

}  // namespace

void infer_broadcast(Inference& inference) {
  if (is_small_dtype(inference.inputs[0].dtype)) fail_small_dtype(inference.inputs[0].dtype);
  require_same_dtypes(inference);
  inference.output(inference.inputs[0].dtype, broadcast_all(inference));
}

void infer_numeric_broadcast(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  infer_broadcast(inference);
}

void infer_compare(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  require_same_dtypes(inference);
  inference.output(Dtype::boolean, broadcast_all(inference));
}

void infer_logic(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::boolean);
  infer_broadcast(inference);
}

void infer_numeric(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  inference.same_as_input(0);
}

void infer_real(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  inference.same_as_input(0);
}

void drop_consumed_inputs(NodeParser& parser) { parser.node.attrs.erase("consumed_inputs"); }

void parse_legacy_broadcast(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  drop_consumed_inputs(parser);
  if (parser.opset >= 7) return;
  const bool aligned = attrs.i("broadcast", 0) != 0 && attrs.has("axis");
  attrs.erase("broadcast");
  if (!aligned) return attrs.erase("axis");
  Attrs align;
  align.set("axis", attrs.i("axis"));
  attrs.erase("axis");
  const ValueId x = parser.required(0), other = parser.required(1);
  parser.node.inputs[1] = parser.emit_before("AlignAxis", {other, x}, align);
}

}  // namespace octet
