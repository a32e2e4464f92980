// SPDX-License-Identifier: Apache-2.0
// OneHot(indices, depth, values[off, on]) {axis=-1}: a new axis of `depth` elements, on at the index. An index outside
// [-depth, depth) leaves its line off.
#include <algorithm>

#include "graph/attributes.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

struct OneHotAttributes {
  s64 axis = -1;

  OCTET_ATTRIBUTES(axis)
};

constexpr auto kInvalid = Error::Code::invalid_model;

s64 depth_of(const Tensor& tensor) {
  s64 depth = -1;
  visit_number(tensor.dtype(), [&]<class T>() {
    const auto value = static_cast<f64>(static_cast<Wide<T>>(tensor.as<T>()[0]));
    if (value >= 0 && value < 0x1p62) depth = static_cast<s64>(value);
  });
  return depth;
}

void infer(Inference& inference) {
  for (size_t i = 0; i < 2; ++i) require_dtype(inference, i, DtypeClass::number);
  if (inference.inputs[1].shape.elements() != 1 || inference.inputs[2].shape != Shape{2}) {
    fail(kInvalid, "depth is {} and values {}, expected a scalar and two elements",
         to_string(inference.inputs[1]), to_string(inference.inputs[2]));
  }
  const Shape& indices = inference.inputs[0].shape;
  const int axis =
      normalize_axis(attribute_of<&OneHotAttributes::axis>(inference.node), indices.rank() + 1);
  const Tensor* depth = inference.value(1);
  if (depth == nullptr) Inference::needs_data(1, "the depth");
  const s64 size = depth_of(*depth);
  if (size < 0) fail(kInvalid, "the depth is no size");
  Shape output;
  for (int i = 0; i <= indices.rank(); ++i) {
    if (i == axis) output.push_back(size);
    if (i < indices.rank()) output.push_back(indices[i]);
  }
  inference.output(inference.inputs[2].dtype, output);
}

// The position of an index of any numeric type, or -1.
std::vector<s64> positions(const ConstView& indices, s64 depth) {
  std::vector<s64> result;
  visit_number(indices.dtype, [&]<class T>() {
    for (const T raw : indices.as<T>()) {
      const auto index = static_cast<f64>(static_cast<Wide<T>>(raw));
      const auto size = static_cast<f64>(depth);
      const bool inside = index >= -size && index < size;
      const s64 at = inside ? static_cast<s64>(index) : -1;
      result.push_back(inside && at < 0 ? at + depth : at);
    }
  });
  return result;
}

void eval(const Eval& eval) {
  const MutableView& output = eval.outputs[0];
  if (output.shape.elements() == 0) return;
  const int axis =
      normalize_axis(attribute_of<&OneHotAttributes::axis>(eval.node), output.shape.rank());
  const s64 depth = output.shape[axis];
  const s64 inner = dims_product(output.shape, axis + 1, output.shape.rank());
  const std::vector<s64> on = positions(eval.inputs[0], depth);
  visit_size(output.dtype, [&]<class T>() {
    const T* values = static_cast<const T*>(eval.inputs[2].data);
    T* dst = static_cast<T*>(output.data);
    std::fill_n(dst, output.shape.elements(), values[0]);
    for (size_t i = 0; i < on.size(); ++i) {
      const auto n = static_cast<s64>(i);
      if (on[i] >= 0) dst[n / inner * inner * depth + on[i] * inner + n % inner] = values[1];
    }
  });
}

}  // namespace

extern constinit const OpDef kOneHot{
    .name = "OneHot", .inputs = {3, 3}, .infer = infer, .eval = eval};
}  // namespace octet
