// SPDX-License-Identifier: Apache-2.0
// ScatterND(x, indices, updates) {reduction="none"}: x with slices replaced or combined, in order; a slice is picked by an
// index tuple, a row of the last axis of the indices.
#include "graph/op_def.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/indexing.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

void infer(Inference& inference) {
  require_dtype(inference, 1, DtypeClass::index);
  attribute_of<&ScatterAttributes::reduction>(inference.node);
  const TensorType& data = inference.inputs[0];
  const Shape& indices = inference.inputs[1].shape;
  const int last = indices.rank() - 1;
  if (last < 0 || indices[last] > data.shape.rank() || indices[last] < 1) {
    fail(kInvalid, "indices of shape {} do not address data of shape {}", to_string(indices),
         to_string(data.shape));
  }
  TensorType expected{data.dtype, Shape(indices.dims().first(static_cast<size_t>(last)))};
  for (int i = static_cast<int>(indices[last]); i < data.shape.rank(); ++i) {
    expected.shape.push_back(data.shape[i]);
  }
  if (inference.inputs[2] != expected) {
    fail(kInvalid, "the updates are {}, expected {}", to_string(inference.inputs[2]),
         to_string(expected));
  }
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const Shape& data = eval.inputs[0].shape;
  const ConstView& indices = eval.inputs[1];
  eval_copy(eval);
  if (indices.shape.elements() == 0) return;
  const auto width = static_cast<int>(indices.shape[indices.shape.rank() - 1]);
  scatter(attribute_of<&ScatterAttributes::reduction>(eval.node), eval.inputs[2],
          tuple_offsets(indices, read_ints(eval, 1), data, 0),
          dims_product(data, width, data.rank()), eval.outputs[0]);
}

}  // namespace

extern constinit const OpDef kScatterND{
    .name = "ScatterND", .inputs = {3, 3}, .infer = infer, .eval = eval};
}  // namespace octet
