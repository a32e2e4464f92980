// SPDX-License-Identifier: Apache-2.0
#include "onnx/inputs.h"

#include "core/check.h"
#include "core/checked.h"
#include "onnx/text.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

constexpr const char* kShapes = "CompileOptions.input_shapes";
constexpr const char* kAskForShape = "give its shape";

// Dynamic dimensions count as one: they are checked again when they are known.
void check_size(const std::string& name, const TensorType& type) {
  Shape least = type.shape;
  for (int i = 0; i < least.rank(); ++i) {
    if (least[i] < 0) least[i] = 1;
  }
  try {
    TensorType{type.dtype, least}.bytes();
  } catch (const Error&) {
    fail_about(kShapes, Error::Code::invalid_model, "input {} has shape {}, which overflows; {}",
               quote_name(name), to_string(type.shape), kAskForShape);
  }
}

// Some exporters write these for every dimension that they do not know: two of them need not be equal.
bool is_anonymous(const std::string& name) { return name.empty() || name == "?" || name == "None"; }

bool is_no_tensor(const octet_onnx::TypeProto& type) {
  return type.has_sequence_type() || type.has_map_type() || type.has_sparse_tensor_type() ||
         type.has_optional_type();
}

}  // namespace

TensorType InputTypes::type_of(const octet_onnx::ValueInfoProto& proto) {
  const std::string& name = proto.name();
  const auto& type = proto.type();
  if (is_no_tensor(type)) {
    fail(Error::Code::unsupported,
         "input {} is a sequence, map, optional or sparse tensor; only tensors are supported",
         quote_name(name));
  }
  if (!type.has_tensor_type()) {
    fail(Error::Code::invalid_model,
         "input {} has no type; export the model again with typed inputs", quote_name(name));
  }
  const auto dtype = find_onnx_dtype(type.tensor_type().elem_type());
  if (!dtype) {
    fail(Error::Code::unsupported, "input {} has the element type {}, which Octet does not read",
         quote_name(name), onnx_dtype_name(type.tensor_type().elem_type()));
  }
  const auto given = given_.find(name);
  TensorType result{*dtype, declared_shape(name, type.tensor_type(),
                                           given == given_.end() ? nullptr : &given->second)};
  check_size(name, result);
  return result;
}

Shape InputTypes::declared_shape(const std::string& name, const octet_onnx::TypeProto::Tensor& type,
                                 const Shape* given) {
  if (!type.has_shape()) {
    if (given != nullptr) return *given;
    fail_about(kShapes, Error::Code::invalid_model, "input {} has no shape; {}", quote_name(name),
               kAskForShape);
  }
  if (given != nullptr && given->rank() != type.shape().dim_size()) {
    fail(Error::Code::invalid_argument, "input {} has {} dimensions, the given shape {} has {}",
         quote_name(name), type.shape().dim_size(), to_string(*given), given->rank());
  }
  Shape shape;
  for (const auto& dim : type.shape().dim()) {
    const int axis = shape.rank();
    const s64 wanted = given != nullptr ? (*given)[axis] : Shape::kDynamic;
    // Some exporters write -1 for "any size".
    const bool fixed = dim.has_dim_value() && dim.dim_value() != Shape::kDynamic;
    if (fixed && dim.dim_value() < 0 && wanted < 0) {
      fail_about(kShapes, Error::Code::invalid_model, "input {} has the negative dimension {}; {}",
                 quote_name(name), dim.dim_value(), kAskForShape);
    }
    if (fixed && dim.dim_value() >= 0 && wanted >= 0 && wanted != dim.dim_value()) {
      fail(Error::Code::invalid_argument,
           "input {} has size {} in dimension {}, the given shape {} has {}", quote_name(name),
           dim.dim_value(), axis, to_string(*given), wanted);
    }
    shape.push_back(wanted >= 0 ? wanted : fixed ? dim.dim_value() : Shape::kDynamic);
    if (!is_anonymous(dim.dim_param())) bind_dim_name(dim.dim_param(), name, axis, shape[axis]);
    if (shape[axis] < 0) shape[axis] = size_number(dim.dim_param());
  }
  return shape;
}

void InputTypes::bind_dim_name(const std::string& name, const std::string& input, int axis,
                               s64 size) {
  if (size == Shape::kDynamic) {
    info_.dim_names.push_back({clean_name(input), axis, clean_name(name)});
    return;
  }
  const auto [at, fresh] = bound_.emplace(name, std::pair(size, input));
  if (!fresh && at->second.first != size) {
    fail(Error::Code::invalid_argument, "the dimension {} is {} in input {} and {} in input {}",
         quote_name(name), at->second.first, quote_name(at->second.second), size,
         quote_name(input));
  }
}

s64 InputTypes::size_number(const std::string& name) {
  const s64 next = Shape::kDynamic - 1 - numbered_;
  const s64 number = is_anonymous(name) ? next : numbers_.emplace(name, next).first->second;
  if (number == next) ++numbered_;
  return number;
}

}  // namespace octet
