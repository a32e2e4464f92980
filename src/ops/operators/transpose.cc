// SPDX-License-Identifier: Apache-2.0
// Transpose(x) {perm}: output axis i is input axis perm[i]; without perm the axes are reversed.
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/permutation.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const TensorType& input = inference.inputs[0];
  Shape output;
  for (int axis : permutation_of(inference.node, input.shape.rank())) {
    output.push_back(input.shape[axis]);
  }
  inference.output(input.dtype, output);
}

void eval(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const std::vector<s64> strides = dense_strides(input.shape);
  StridedView view{.shape = eval.outputs[0].shape, .strides = {}, .offset = 0};
  for (int axis : permutation_of(eval.node, input.shape.rank())) {
    view.strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  strided_copy(view, input.dtype, input.data, eval.outputs[0].data);
}

constexpr OpTraits kTraits{.permutes = true};

}  // namespace

extern constinit const OpDef kTranspose{
    .name = "Transpose", .infer = infer, .eval = eval, .quant = kMovesCodes, .traits = &kTraits};
}  // namespace octet
