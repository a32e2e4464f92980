// SPDX-License-Identifier: Apache-2.0
// Types of a tensor's elements, as kernels read and write them: device/element_type.cuh.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

#define OCTET_ELEMENT_TYPES(TYPE) \
  TYPE(u8)                        \
  TYPE(s8)                        \
  TYPE(u16)                       \
  TYPE(s16)                       \
  TYPE(u32)                       \
  TYPE(s32)                       \
  TYPE(u64)                       \
  TYPE(s64)                       \
  TYPE(f32)                       \
  TYPE(f64)                       \
  TYPE(f32x4)                     \
  TYPE(f16)                       \
  TYPE(bf16)

#define OCTET_ELEMENT_TYPE(type) type,
enum class ElementType : s32 { OCTET_ELEMENT_TYPES(OCTET_ELEMENT_TYPE) };
#undef OCTET_ELEMENT_TYPE

constexpr s32 element_bytes(ElementType type) {
  switch (type) {
    case ElementType::u8:
    case ElementType::s8:
      return 1;
    case ElementType::u16:
    case ElementType::s16:
    case ElementType::f16:
    case ElementType::bf16:
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
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::f16 ||
         type == ElementType::bf16;
}
constexpr bool is_signed_integer(ElementType type) {
  return type == ElementType::s8 || type == ElementType::s16 || type == ElementType::s32 ||
         type == ElementType::s64;
}

}  // namespace octet::cuda
