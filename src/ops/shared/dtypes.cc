// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/dtypes.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "core/check.h"

namespace octet {
namespace {

struct OnnxType {
  std::string_view name;
  std::optional<Dtype> dtype;
};

// Indexed by TensorProto.DataType.
constexpr std::array kOnnxTypes = {
    OnnxType{"UNDEFINED", {}},
    OnnxType{"FLOAT", Dtype::f32},
    OnnxType{"UINT8", Dtype::u8},
    OnnxType{"INT8", Dtype::s8},
    OnnxType{"UINT16", Dtype::u16},
    OnnxType{"INT16", Dtype::s16},
    OnnxType{"INT32", Dtype::s32},
    OnnxType{"INT64", Dtype::s64},
    OnnxType{"STRING", {}},
    OnnxType{"BOOL", Dtype::boolean},
    OnnxType{"FLOAT16", Dtype::f16},
    OnnxType{"DOUBLE", Dtype::f64},
    OnnxType{"UINT32", Dtype::u32},
    OnnxType{"UINT64", Dtype::u64},
    OnnxType{"COMPLEX64", {}},
    OnnxType{"COMPLEX128", {}},
    OnnxType{"BFLOAT16", Dtype::bf16},
    OnnxType{"FLOAT8E4M3FN", Dtype::e4m3fn},
    OnnxType{"FLOAT8E4M3FNUZ", Dtype::e4m3fnuz},
    OnnxType{"FLOAT8E5M2", Dtype::e5m2},
    OnnxType{"FLOAT8E5M2FNUZ", Dtype::e5m2fnuz},
    OnnxType{"UINT4", Dtype::u4},
    OnnxType{"INT4", Dtype::s4},
    OnnxType{"FLOAT4E2M1", Dtype::e2m1},
    OnnxType{"FLOAT8E8M0", Dtype::e8m0},
    OnnxType{"UINT2", Dtype::u2},
    OnnxType{"INT2", Dtype::s2},
};

bool is_listed(s64 code) { return code >= 0 && code < std::ssize(kOnnxTypes); }

}  // namespace

std::optional<Dtype> find_onnx_dtype(s64 code) {
  return is_listed(code) ? kOnnxTypes[static_cast<size_t>(code)].dtype : std::nullopt;
}

Dtype dtype_from_onnx(s64 code) {
  const std::optional<Dtype> dtype = find_onnx_dtype(code);
  if (dtype) return *dtype;
  fail(Error::Code::unsupported, "element type {} is not supported", onnx_dtype_name(code));
}

s32 dtype_to_onnx(Dtype dtype) {
  for (size_t i = 0; i < kOnnxTypes.size(); ++i) {
    if (kOnnxTypes[i].dtype == dtype) return static_cast<s32>(i);
  }
  check_failed("every dtype has an ONNX number", __FILE__, __LINE__);
}

std::string onnx_dtype_name(s64 code) {
  return is_listed(code) ? std::string(kOnnxTypes[static_cast<size_t>(code)].name)
                         : fmt::format("unknown type {}", code);
}

Dtype dtype_from_name(std::string_view name) {
  for (const OnnxType& type : kOnnxTypes) {
    if (type.dtype && (type.name == name || dtype_name(*type.dtype) == name)) return *type.dtype;
  }
  fail(Error::Code::invalid_model, "'{}' is no element type", name);
}

}  // namespace octet
