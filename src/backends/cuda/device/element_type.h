// SPDX-License-Identifier: Apache-2.0
// Types of elements as fields of a spec: device/element_type.cuh has the types.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

enum class ElementType : s32 { u8, s8, u16, s16, u32, s32, u64, s64, f32, f64, f32x4 };

constexpr s32 element_bytes(ElementType type) {
  switch (type) {
    case ElementType::u8:
    case ElementType::s8:
      return 1;
    case ElementType::u16:
    case ElementType::s16:
      return 2;
    case ElementType::u32:
    case ElementType::s32:
    case ElementType::f32:
      return 4;
    case ElementType::f32x4:
      return 16;
    default:
      return 8;
  }
}
constexpr bool is_real(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64;
}
constexpr bool is_signed_integer(ElementType type) {
  return type == ElementType::s8 || type == ElementType::s16 || type == ElementType::s32 ||
         type == ElementType::s64;
}

}  // namespace octet::cuda
