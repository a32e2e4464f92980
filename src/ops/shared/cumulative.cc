// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/cumulative.h"

#include "ops/attributes/reduction.h"

namespace octet {

void infer_cumulative(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  require_dtype(inference, 1, DtypeClass::index);
  if (inference.inputs[1].shape.elements() != 1) {
    fail(Error::Code::invalid_model, "the axis is {}, expected a scalar",
         to_string(inference.inputs[1]));
  }
  if (inference.value(1) != nullptr) {
    normalize_axis(inference.required_ints(1, "the axis")[0], inference.inputs[0].shape.rank());
  }
  inference.same_as_input(0);
}

CumulativeLines cumulative_lines(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const int axis = normalize_axis(read_ints(eval, 1)[0], shape.rank());
  if (shape.elements() == 0) return {};
  const auto [exclusive, reverse] = attributes_of<CumulativeAttributes>(eval.node);
  const s64 inner = dims_product(shape, axis + 1, shape.rank());
  return {.count = dims_product(shape, 0, axis) * inner,
          .length = shape[axis],
          .stride = reverse ? -inner : inner,
          .inner = inner,
          .first = reverse ? (shape[axis] - 1) * inner : 0,
          .exclusive = exclusive};
}

}  // namespace octet
