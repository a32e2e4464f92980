// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 bits and shapes for graphs as text.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/types.h"
#include "octet/tensor.h"

namespace octet::test {

inline std::string dims(const Shape& shape) {
  std::string text;
  for (const s64 d : shape) text += fmt::format("{}{}", text.empty() ? "" : ",", d);
  return text;
}

// To "f16", or else bf16.
inline f32 rounded(f32 x, std::string_view type) {
  if (type != "f16" && type != "bf16") return x;
  return type == "f16" ? static_cast<f32>(f16(x)) : static_cast<f32>(bf16(x));
}

// "NAME: f32[SHAPE] = {...}": sixteenths, which both types hold, or other steps.
inline std::string weights(const char* name, const std::string& shape, int count,
                           f32 step = 0.0625f) {
  std::string text = fmt::format("const %{}: f32[{}] = {{", name, shape);
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", static_cast<f32>(i * 7 % 11 - 5) * step);
  return text + "}\n";
}

}  // namespace octet::test
