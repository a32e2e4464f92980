// SPDX-License-Identifier: Apache-2.0
#include "onnx/dtypes.h"

#include <fmt/format.h>

#include <iterator>

#include "core/check.h"

namespace octet {
namespace {

struct OnnxType {
  const char* name;
  std::optional<Dtype> dtype;
};

// Indexed by TensorProto.DataType.
const OnnxType kTypes[] = {
    {"UNDEFINED", {}},
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
    {"BFLOAT16", Dtype::bf16},
    {"FLOAT8E4M3FN", {}},
    {"FLOAT8E4M3FNUZ", {}},
    {"FLOAT8E5M2", {}},
    {"FLOAT8E5M2FNUZ", {}},
    {"UINT4", {}},
    {"INT4", {}},
    {"FLOAT4E2M1", {}},
    {"FLOAT8E8M0", {}},
    {"UINT2", {}},
    {"INT2", {}},
};

}  // namespace

std::optional<Dtype> dtype_from_onnx(s32 data_type) {
  if (data_type < 0 || static_cast<size_t>(data_type) >= std::size(kTypes)) return std::nullopt;
  return kTypes[data_type].dtype;
}

s32 dtype_to_onnx(Dtype dtype) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].dtype == dtype) return static_cast<s32>(i);
  }
  check_failed("every dtype has an ONNX number", __FILE__, __LINE__);
}

std::string onnx_dtype_name(s32 data_type) {
  if (data_type < 0 || static_cast<size_t>(data_type) >= std::size(kTypes)) {
    return fmt::format("unknown type {}", data_type);
  }
  return kTypes[data_type].name;
}

}  // namespace octet
