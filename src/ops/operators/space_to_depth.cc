// SPDX-License-Identifier: Apache-2.0
// SpaceToDepth(x[N,C,H,W]) {blocksize, mode}: the inverse of DepthToSpace.
#include "core/checked.h"
#include "graph/op_def.h"
#include "ops/shared/space_depth.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const TensorType& input = inference.inputs[0];
  const s64 b = space_depth_of(inference.node, input.shape).block;
  const auto area = checked_mul(b, b);
  const auto channels = area ? checked_mul(input.shape[1], *area) : std::nullopt;
  if (!channels || input.shape[2] % b != 0 || input.shape[3] % b != 0) {
    fail(Error::Code::invalid_model, "{}x{} pixels are not whole blocks of size {}", input.shape[2],
         input.shape[3], b);
  }
  inference.output(input.dtype,
                   Shape{input.shape[0], *channels, input.shape[2] / b, input.shape[3] / b});
}

void eval(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const SpaceDepth sd = space_depth_of(eval.node, input.shape);
  const s64 b = sd.block;
  const s64 c = input.shape[1];
  const s64 h = eval.outputs[0].shape[2];
  const s64 w = eval.outputs[0].shape[3];
  const s64 row = w * b;
  const s64 plane = h * b * row;
  StridedView view{.shape = Shape{input.shape[0], b, b, c, h, w},
                   .strides = {c * plane, row, 1, plane, b * row, b},
                   .offset = 0};
  if (!sd.depth_first) {
    view.shape = Shape{input.shape[0], c, b, b, h, w};
    view.strides = {c * plane, plane, row, 1, b * row, b};
  }
  strided_copy(view, input.dtype, input.data, eval.outputs[0].data);
}

}  // namespace

extern constinit const OpDef kSpaceToDepth{
    .name = "SpaceToDepth", .infer = infer, .eval = eval, .quant = kMovesCodes};
}  // namespace octet
