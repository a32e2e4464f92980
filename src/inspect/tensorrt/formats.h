// SPDX-License-Identifier: Apache-2.0
// TensorRT's words for element types and memory layouts. Tools look them up in tables: they are exact, mixed spelling included.
#pragma once

#include <string>
#include <string_view>

#include "octet/tensor.h"
#include "plan/offer.h"

namespace octet {

struct TensorRtFormat {
  std::string text;  // "Thirty-two wide channel vectorized row major Int8 format"
  std::string name;  // "kCHW32"
};

// `codes`: 8-bit elements with a scale, which TensorRT knows as INT8 only.
TensorRtFormat tensorrt_format(const TensorType& type, Layout layout, bool codes);
std::string_view tensorrt_type_name(Dtype dtype);  // "Float", "Half", "Int8"

}  // namespace octet
