// SPDX-License-Identifier: Apache-2.0
// Compress(x, condition) {axis?}: the slices of an axis (of the flattened tensor without one) where the condition holds.
#include <cstring>

#include "graph/attributes.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

struct CompressAttributes {
  std::optional<s64> axis;

  OCTET_ATTRIBUTES(axis)
};

// The tensor as [outer, length, inner] with the axis in the middle.
struct Lines {
  s64 outer = 1;
  s64 length = 0;
  s64 inner = 1;
};

Lines lines_of(const Node& node, const Shape& shape) {
  const std::optional<s64> given = attribute_of<&CompressAttributes::axis>(node);
  if (!given) return {1, shape.elements(), 1};
  const int axis = normalize_axis(*given, shape.rank());
  return {dims_product(shape, 0, axis), shape[axis], dims_product(shape, axis + 1, shape.rank())};
}

Shape result_shape(const Node& node, const Shape& shape, s64 kept) {
  const std::optional<s64> axis = attribute_of<&CompressAttributes::axis>(node);
  if (!axis) return {kept};
  Shape result = shape;
  result[normalize_axis(*axis, shape.rank())] = kept;
  return result;
}

void infer(Inference& inference) {
  require_dtype(inference, 1, DtypeClass::boolean);
  const TensorType& x = inference.inputs[0];
  const Shape& condition = inference.inputs[1].shape;
  const s64 length = lines_of(inference.node, x.shape).length;
  if (condition.rank() != 1 || condition[0] > length) {
    fail(Error::Code::invalid_model, "the condition is {}, expected at most {} elements",
         to_string(condition), length);
  }
  inference.output(x.dtype, result_shape(inference.node, x.shape, Shape::kDynamic));
}

void eval(const Eval& eval) {
  const ConstView& x = eval.inputs[0];
  std::vector<s64> kept;
  const auto condition = eval.inputs[1].as<bool>();
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i]) kept.push_back(static_cast<s64>(i));
  }
  const Lines lines = lines_of(eval.node, x.shape);
  const Shape shape = result_shape(eval.node, x.shape, static_cast<s64>(kept.size()));
  const MutableView result = eval.make(0, {x.dtype, shape});
  const size_t bytes = static_cast<size_t>(lines.inner) * dtype_bytes(x.dtype);
  const auto* src = static_cast<const std::byte*>(x.data);
  auto* dst = static_cast<std::byte*>(result.data);
  for (s64 n = 0; n < lines.outer; ++n) {
    for (s64 i : kept) {
      std::memcpy(dst, src + static_cast<size_t>(n * lines.length + i) * bytes, bytes);
      dst += bytes;
    }
  }
}

}  // namespace

extern constinit const OpDef kCompress{
    .name = "Compress", .inputs = {2, 2}, .infer = infer, .eval = eval};
}  // namespace octet
