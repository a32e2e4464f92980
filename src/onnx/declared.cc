// SPDX-License-Identifier: Apache-2.0
#include "onnx/declared.h"

#include "core/check.h"
#include "onnx/element_types.h"
#include "onnx/text.h"

namespace octet {
namespace {

constexpr s64 kUndefined = 0;

// Some exporters write 0 or -1 for sizes that they do not know.
Shape shape_of(const octet_onnx::TensorShapeProto& proto) {
  Shape shape;
  for (const auto& dim : proto.dim()) {
    const bool fixed = dim.has_dim_value() && dim.dim_value() > 0;
    shape.push_back(fixed ? dim.dim_value() : Shape::kDynamic);
  }
  return shape;
}

}  // namespace

std::optional<DeclaredType> declared_type(const octet_onnx::ValueInfoProto& proto, ValueId id) {
  if (!proto.type().has_tensor_type()) return {};
  const auto& type = proto.type().tensor_type();
  DeclaredType declared;
  declared.id = id;
  if (type.elem_type() != kUndefined) {
    declared.dtype = onnx_dtype_name(type.elem_type());
    declared.known = find_onnx_dtype(type.elem_type());
    if (!is_element_type(type.elem_type())) {
      fail(Error::Code::invalid_model, "the value {} is declared with {}", quote_name(proto.name()),
           declared.dtype);
    }
  }
  // Some write a shape of no dimensions where they know none.
  if (type.shape().dim_size() > 0 && type.shape().dim_size() <= Shape::kMaxRank) {
    declared.shape = shape_of(type.shape());
  }
  return declared;
}

}  // namespace octet
