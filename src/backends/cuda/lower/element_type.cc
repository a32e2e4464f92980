// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/element_type.h"

#include "core/check.h"
#include "core/small_types.h"

namespace octet::cuda {

ElementType element_type(Dtype dtype) {
  if (is_small_dtype(dtype) || dtype == Dtype::boolean) return ElementType::u8;
  switch (dtype) {
    case Dtype::s8:
      return ElementType::s8;
    case Dtype::u8:
      return ElementType::u8;
    case Dtype::s16:
      return ElementType::s16;
    case Dtype::u16:
    case Dtype::f16:
    case Dtype::bf16:
      return ElementType::u16;
    case Dtype::s32:
      return ElementType::s32;
    case Dtype::u32:
      return ElementType::u32;
    case Dtype::s64:
      return ElementType::s64;
    case Dtype::u64:
      return ElementType::u64;
    case Dtype::f32:
      return ElementType::f32;
    case Dtype::f64:
      return ElementType::f64;
    default:
      OCTET_CHECK(false);  // strings stay on the CPU
      return {};
  }
}

ElementType number_type(Dtype dtype) {
  if (dtype == Dtype::f16) return ElementType::f16;
  return dtype == Dtype::bf16 ? ElementType::bf16 : element_type(dtype);
}

std::string type_name(ElementType type) {
#define OCTET_ELEMENT_NAME(type) #type,
  constexpr const char* kNames[] = {OCTET_ELEMENT_TYPES(OCTET_ELEMENT_NAME)};
#undef OCTET_ELEMENT_NAME
  return kNames[static_cast<size_t>(type)];
}

std::string kernel_type(Dtype dtype) { return type_name(element_type(dtype)); }

ElementType element_of_bytes(s64 bytes) {
  OCTET_CHECK(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
  return bytes == 1   ? ElementType::u8
         : bytes == 2 ? ElementType::u16
         : bytes == 4 ? ElementType::u32
                      : ElementType::u64;
}

}  // namespace octet::cuda
