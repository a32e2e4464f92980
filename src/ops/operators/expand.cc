// SPDX-License-Identifier: Apache-2.0
// Expand(x, shape): x broadcast against a shape (dimensions of 1 in it keep x's).
#include <algorithm>

#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/open_dims.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  if (dims_are_open(inference, 1)) {
    const s64 rank = std::max<s64>(inference.inputs[0].shape.rank(), length_of(inference, 1));
    inference.output(inference.inputs[0].dtype, open_shape(rank));
    return;
  }
  const std::vector<s64> dims = inference.required_ints(1, "the shape to expand to");
  for (s64 dim : dims) {
    if (dim < 0) fail(Error::Code::invalid_model, "the shape to expand to has dimension {}", dim);
  }
  inference.output(inference.inputs[0].dtype,
                   broadcast_shapes(inference.inputs[0].shape, Shape(dims)));
}

void eval(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const Shape& output = eval.outputs[0].shape;
  const std::vector<s64> strides = dense_strides(input.shape);
  StridedView view{.shape = output, .strides = {}, .offset = 0};
  const int added = output.rank() - input.shape.rank();
  for (int i = 0; i < output.rank(); ++i) {
    const bool repeats = i < added || input.shape[i - added] == 1;
    view.strides.push_back(repeats ? 0 : strides[static_cast<size_t>(i - added)]);
  }
  strided_copy(view, input.dtype, input.data, eval.outputs[0].data);
}

}  // namespace

extern constinit const OpDef kExpand{
    .name = "Expand", .inputs = {2, 2}, .infer = infer, .eval = eval, .quant = kMovesCodes};
}  // namespace octet
