// SPDX-License-Identifier: Apache-2.0
// ONNX's numbers of element types, as files give them.
#pragma once

#include "core/types.h"
#include "ops/shared/dtypes.h"

namespace octet {

// A type that ONNX has and a tensor may be of, also where Octet does not read it.
inline bool is_element_type(s64 code) {
  return code > 0 && !onnx_dtype_name(code).starts_with("unknown");
}

}  // namespace octet
