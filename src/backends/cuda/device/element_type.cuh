// SPDX-License-Identifier: Apache-2.0
// The types that a spec names.
#pragma once

#include "backends/cuda/device/element_type.h"

namespace octet::cuda {

typedef float4 f32x4;

template <ElementType kType>
struct ElementOf;
#define OCTET_ELEMENT_OF(type)          \
  template <>                           \
  struct ElementOf<ElementType::type> { \
    typedef type Type;                  \
  };
OCTET_ELEMENT_TYPES(OCTET_ELEMENT_OF)
#undef OCTET_ELEMENT_OF
template <ElementType kType>
using Element = typename ElementOf<kType>::Type;

// The unsigned type in which sums and products of integers of so many bytes wrap.
template <s32 kBytes>
struct WrappingOf {
  typedef u32 Type;
};
template <>
struct WrappingOf<8> {
  typedef u64 Type;
};
template <class T>
using Wrapping = typename WrappingOf<sizeof(T)>::Type;

}  // namespace octet::cuda
