// SPDX-License-Identifier: Apache-2.0
// ScatterElements(x, indices, updates) {axis=0, reduction="none"}: x with single elements replaced or combined, in order.
#include "graph/op_def.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_of.h"
#include "ops/shared/element_offsets.h"
#include "ops/shared/indexing.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 1, DtypeClass::index);
  attribute_of<&ScatterAttributes::reduction>(inference.node);
  const TensorType& input = inference.inputs[0];
  const TensorType expected{input.dtype, inference.inputs[1].shape};
  if (inference.inputs[2] != expected) {
    fail(Error::Code::invalid_model, "the updates are {}, expected {}",
         to_string(inference.inputs[2]), to_string(expected));
  }
  const int axis = axis_of(inference.node, input.shape.rank());
  check_element_indices(input.shape, expected.shape, axis);
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const int axis = axis_of(eval.node, shape.rank());
  eval_copy(eval);
  const std::vector<s64> offsets =
      element_offsets(shape, eval.inputs[1].shape, read_ints(eval, 1), axis);
  scatter(attribute_of<&ScatterAttributes::reduction>(eval.node), eval.inputs[2], offsets, 1,
          eval.outputs[0]);
}

}  // namespace

extern constinit const OpDef kScatterElements{
    .name = "ScatterElements", .inputs = {3, 3}, .infer = infer, .eval = eval};
}  // namespace octet
