// SPDX-License-Identifier: Apache-2.0
// ONNX's numbers of element types.
#pragma once

#include <optional>
#include <string>

#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

std::optional<Dtype> dtype_from_onnx(s32 data_type);
s32 dtype_to_onnx(Dtype dtype);
// "FLOAT8E4M3FN", "STRING", "unknown type 999"
std::string onnx_dtype_name(s32 data_type);

}  // namespace octet
