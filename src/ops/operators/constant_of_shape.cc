// SPDX-License-Identifier: Apache-2.0
// ConstantOfShape(shape) {value}: a tensor filled with the one element of `value` (f32 zero when absent).
#include <algorithm>
#include <cstring>

#include "graph/op_def.h"
#include "ops/attributes/moves.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/open_dims.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

Tensor fill_value(const Node& node) {
  const Tensor value =
      attribute_of<&ConstantOfShapeAttributes::value>(node).value_or(Tensor::scalar(0.0f));
  if (!value || value.elements() != 1) fail(kInvalid, "attribute 'value' must hold one element");
  return value;
}

void infer(Inference& inference) {
  const Tensor value = fill_value(inference.node);
  if (dims_are_open(inference, 0)) {
    inference.output(value.dtype(), open_shape(length_of(inference, 0)));
    return;
  }
  const std::vector<s64> dims = inference.required_ints(0, "the shape");
  for (s64 dim : dims) {
    if (dim < 0) fail(kInvalid, "the shape has dimension {}", dim);
  }
  inference.output(value.dtype(), Shape(dims));
}

void eval(const Eval& eval) {
  const Tensor value = fill_value(eval.node);
  const MutableView& output = eval.outputs[0];
  visit_size(output.dtype, [&]<class T>() {
    T element;
    std::memcpy(&element, value.data(), sizeof(T));
    std::fill_n(static_cast<T*>(output.data), output.shape.elements(), element);
  });
}

}  // namespace

extern constinit const OpDef kConstantOfShape{
    .name = "ConstantOfShape", .infer = infer, .eval = eval};
}  // namespace octet
