// SPDX-License-Identifier: Apache-2.0
// Gather(x, indices) {axis=0}: slices of x along the axis, picked by indices of any shape.
#include <cstring>

#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_of.h"
#include "ops/shared/indexing.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 1, DtypeClass::index);
  const TensorType& input = inference.inputs[0];
  const int axis = axis_of(inference.node, input.shape.rank());
  Shape output;
  for (int i = 0; i < input.shape.rank(); ++i) {
    if (i != axis) {
      output.push_back(input.shape[i]);
      continue;
    }
    for (s64 dim : inference.inputs[1].shape) output.push_back(dim);
  }
  inference.output(input.dtype, output);
}

void eval(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const int axis = axis_of(eval.node, input.shape.rank());
  const s64 dim = input.shape[axis];
  std::vector<s64> indices = read_ints(eval, 1);
  for (s64& index : indices) index = checked_index(index, dim, axis);
  const s64 outer = dims_product(input.shape, 0, axis);
  const s64 bytes = dims_product(input.shape, axis + 1, input.shape.rank()) *
                    static_cast<s64>(dtype_bytes(input.dtype));
  if (bytes == 0) return;
  const auto* src = static_cast<const std::byte*>(input.data);
  auto* dst = static_cast<std::byte*>(eval.outputs[0].data);
  for (s64 n = 0; n < outer; ++n, src += dim * bytes) {
    for (const s64 index : indices) {
      std::memcpy(dst, src + index * bytes, static_cast<size_t>(bytes));
      dst += bytes;
    }
  }
}

}  // namespace

extern constinit const OpDef kGather{
    .name = "Gather", .inputs = {2, 2}, .infer = infer, .eval = eval, .quant = kMovesCodes};
}  // namespace octet
