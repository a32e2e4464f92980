// SPDX-License-Identifier: Apache-2.0
// Element<ElementType::s8> is s8.
#pragma once

#include "backends/cuda/device/element_type.h"

namespace octet::cuda {

template <ElementType kType>
struct ElementOf;
template <>
struct ElementOf<ElementType::u8> { typedef u8 Type; };
template <>
struct ElementOf<ElementType::s8> { typedef s8 Type; };
template <>
struct ElementOf<ElementType::u16> { typedef u16 Type; };
template <>
struct ElementOf<ElementType::s16> { typedef s16 Type; };
template <>
struct ElementOf<ElementType::u32> { typedef u32 Type; };
template <>
struct ElementOf<ElementType::s32> { typedef s32 Type; };
template <>
struct ElementOf<ElementType::u64> { typedef u64 Type; };
template <>
struct ElementOf<ElementType::s64> { typedef s64 Type; };
template <>
struct ElementOf<ElementType::f32> { typedef f32 Type; };
template <>
struct ElementOf<ElementType::f64> { typedef f64 Type; };
template <>
struct ElementOf<ElementType::f32x4> { typedef float4 Type; };

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
