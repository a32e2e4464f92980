// SPDX-License-Identifier: Apache-2.0
// Flatten(x) {axis=1}: a matrix whose rows are the dimensions before the axis.
#include "graph/attributes.h"
#include "ops/shared/axes.h"
#include "ops/shared/forms.h"

namespace octet {
namespace {

struct FlattenAttributes {
  s64 axis = 1;

  OCTET_ATTRIBUTES(axis)
};

void infer(Inference& inference) {
  const TensorType& input = inference.inputs[0];
  const int rank = input.shape.rank();
  const s64 axis = attribute_of<&FlattenAttributes::axis>(inference.node);
  const int split = axis == rank ? rank : normalize_axis(axis, rank);
  const Shape rows(input.shape.dims().first(static_cast<size_t>(split)));
  const Shape columns(input.shape.dims().subspan(static_cast<size_t>(split)));
  inference.output(input.dtype, Shape{rows.elements(), columns.elements()});
}

}  // namespace

extern constinit const OpDef kFlatten = reshaping("Flatten", {1, 1}, infer);
}  // namespace octet
