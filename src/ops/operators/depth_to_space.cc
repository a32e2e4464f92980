// SPDX-License-Identifier: Apache-2.0
// DepthToSpace(x[N,C,H,W]) {blocksize, mode}: channels become blocks of pixels. mode "DCR": the block's position is the
// slower part of the channel index; "CRD": the faster one.
#include "core/checked.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/space_depth.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const TensorType& input = inference.inputs[0];
  const SpaceDepth sd = space_depth_of(inference.node, input.shape);
  const auto area = checked_mul(sd.block, sd.block);
  const auto h = checked_mul(input.shape[2], sd.block);
  const auto w = checked_mul(input.shape[3], sd.block);
  if (!area || !h || !w || input.shape[1] % *area != 0) {
    fail(Error::Code::invalid_model, "{} channels are not a multiple of blocksize {} squared",
         input.shape[1], sd.block);
  }
  inference.output(input.dtype, Shape{input.shape[0], input.shape[1] / *area, *h, *w});
}

void eval(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const SpaceDepth sd = space_depth_of(eval.node, input.shape);
  const s64 b = sd.block;
  const s64 h = input.shape[2];
  const s64 w = input.shape[3];
  const s64 c = eval.outputs[0].shape[1];
  const s64 plane = h * w;
  const s64 channel = sd.depth_first ? plane : plane * b * b;
  const s64 block = sd.depth_first ? plane * c : plane;
  const StridedView view{.shape = Shape{input.shape[0], c, h, b, w, b},
                         .strides = {c * b * b * plane, channel, w, b * block, 1, block},
                         .offset = 0};
  strided_copy(view, input.dtype, input.data, eval.outputs[0].data);
}

}  // namespace

extern constinit const OpDef kDepthToSpace{
    .name = "DepthToSpace", .infer = infer, .eval = eval, .quant = kMovesCodes};
}  // namespace octet
