// SPDX-License-Identifier: Apache-2.0
// GatherElements(x, indices) {axis=0}: y[i][j] = x[indices[i][j]][j] for axis 0, and alike for others.
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_of.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/element_offsets.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 1, DtypeClass::index);
  const TensorType& input = inference.inputs[0];
  const int axis = axis_of(inference.node, input.shape.rank());
  check_element_indices(input.shape, inference.inputs[1].shape, axis);
  inference.output(input.dtype, inference.inputs[1].shape);
}

void eval(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const int axis = axis_of(eval.node, input.shape.rank());
  const std::vector<s64> offsets =
      element_offsets(input.shape, eval.inputs[1].shape, read_ints(eval, 1), axis);
  visit_size(input.dtype, [&]<class T>() {
    const T* src = static_cast<const T*>(input.data);
    T* dst = static_cast<T*>(eval.outputs[0].data);
    for (const s64 offset : offsets) *dst++ = src[offset];
  });
}

}  // namespace

extern constinit const OpDef kGatherElements{
    .name = "GatherElements", .inputs = {2, 2}, .infer = infer, .eval = eval, .quant = kMovesCodes};
}  // namespace octet
