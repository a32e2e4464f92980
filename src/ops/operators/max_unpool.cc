// SPDX-License-Identifier: Apache-2.0
// MaxUnpool(x, positions, output shape?): zeros, and x where MaxPool found it. Positions count elements of the whole tensor
// that the window attributes give; a larger output shape adds zeros at the end of its axes.
#include <algorithm>

#include "core/check.h"
#include "core/checked.h"
#include "ops/attributes/window.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/window.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

// What was pooled, as the attributes say.
Shape pooled_from(const Node& node, const Shape& x) {
  if (x.rank() < 3) fail(kInvalid, "the input is {}, expected [N, C, sizes...]", to_string(x));
  const size_t spatial = static_cast<size_t>(x.rank() - 2);
  const auto attributes = attributes_of<WindowAttributes>(node);
  const auto kernel = window_values("kernel_shape", attributes.kernel_shape, {spatial, 1, 1});
  const auto strides = window_values("strides", attributes.strides, {spatial, 1, 1});
  const auto pads = window_values("pads", attributes.pads, {2 * spatial, 0, 0});
  Shape shape{x[0], x[1]};
  for (size_t i = 0; i < spatial; ++i) {
    const auto reach = checked_mul(x[static_cast<int>(i) + 2] - 1, strides[i]);
    const s64 size = reach ? *reach + kernel[i] - pads[i] - pads[spatial + i] : -1;
    if (size < 0) fail(kInvalid, "axis {} of the output would have {} elements", i + 2, size);
    shape.push_back(size);
  }
  return shape;
}

void infer(Inference& inference) {
  const TensorType& x = inference.inputs[0];
  require_dtype(inference, 0, DtypeClass::number);
  require_dtype(inference, 1, DtypeClass::index);
  if (inference.inputs[1].shape != x.shape)
    fail(kInvalid, "the positions are {}, expected {}", to_string(inference.inputs[1].shape),
         to_string(x.shape));
  const Shape inner = pooled_from(inference.node, x.shape);
  if (!inference.has_input(2)) return inference.output(x.dtype, inner);
  const Shape shape(inference.required_ints(2, "the output shape"));
  bool fits = shape.rank() == inner.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = shape[i] >= inner[i];
  if (!fits)
    fail(kInvalid, "the output shape is {}, expected at least {}", to_string(shape),
         to_string(inner));
  inference.output(x.dtype, shape);
}

// The offset in `outer` of element `index` of `inner`, which lies in its first corner.
s64 corner_offset(s64 index, const Shape& inner, const Shape& outer) {
  s64 offset = 0, stride = 1;
  for (int i = inner.rank() - 1; i >= 0; --i) {
    offset += index % inner[i] * stride;
    index /= inner[i];
    stride *= outer[i];
  }
  return offset;
}

void eval(const Eval& eval) {
  const Shape inner = pooled_from(eval.node, eval.inputs[0].shape);
  const Shape& outer = eval.outputs[0].shape;
  const std::vector<s64> positions = read_ints(eval, 1);
  visit_size(eval.outputs[0].dtype, [&]<class T>() {
    T* y = static_cast<T*>(eval.outputs[0].data);
    const T* x = static_cast<const T*>(eval.inputs[0].data);
    std::fill_n(y, outer.elements(), T{0});
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] < 0 || positions[i] >= inner.elements())
        fail(Error::Code::invalid_argument, "position {} is outside the {} elements pooled from",
             positions[i], inner.elements());
      y[corner_offset(positions[i], inner, outer)] = x[i];
    }
  });
}

}  // namespace

extern constinit const OpDef kMaxUnpool{
    .name = "MaxUnpool", .inputs = {2, 3}, .infer = infer, .eval = eval};
}  // namespace octet
