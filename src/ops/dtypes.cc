// SPDX-License-Identifier: Apache-2.0
#include "ops/dtypes.h"

#include <array>
#include <optional>

namespace octet {
namespace {

struct OnnxType {
  std::string_view name;
  std::optional<Dtype> dtype;
};

// Indexed by TensorProto.DataType.
constexpr std::array<OnnxType, 17> kOnnxTypes = {{{"UNDEFINED", {}},
                                                  {"FLOAT", Dtype::f32},
                                                  {"UINT8", Dtype::u8},
                                                  {"INT8", Dtype::s8},
                                                  {"UINT16", Dtype::u16},
                                                  {"INT16", Dtype::s16},
                                                  {"INT32", Dtype::s32},
                                                  {"INT64", Dtype::s64},
                                                  {"STRING", {}},
                                                  {"BOOL", Dtype::boolean},
                                                  {"FLOAT16", Dtype::f16},
                                                  {"DOUBLE", Dtype::f64},
                                                  {"UINT32", Dtype::u32},
                                                  {"UINT64", Dtype::u64},
                                                  {"COMPLEX64", {}},
                                                  {"COMPLEX128", {}},
                                                  {"BFLOAT16", Dtype::bf16}}};

}  // namespace

Dtype dtype_from_onnx(s64 code) {
  if (code < 0 || code >= static_cast<s64>(kOnnxTypes.size())) {
    fail(Error::Code::unsupported, "element type {} of ONNX is not supported", code);
  }
  const OnnxType& type = kOnnxTypes[static_cast<size_t>(code)];
  if (!type.dtype) fail(Error::Code::unsupported, "element type {} is not supported", type.name);
  return *type.dtype;
}

Dtype dtype_from_name(std::string_view name) {
  for (const OnnxType& type : kOnnxTypes) {
    if (type.dtype && (type.name == name || dtype_name(*type.dtype) == name)) return *type.dtype;
  }
  fail(Error::Code::invalid_model, "'{}' is no element type", name);
}

}  // namespace octet
