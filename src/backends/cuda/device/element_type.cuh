// SPDX-License-Identifier: Apache-2.0
// The types that a spec names.
#pragma once

#include "backends/cuda/device/element_type.h"
#include "backends/cuda/device/functions.cuh"
#include "backends/cuda/device/mma_float.cuh"

namespace octet::cuda {

typedef float4 f32x4;

// Reals of 16 bits: they are computed with as f32, and made of it by rounding.
struct f16 {
  u16 bits;
  f16() = default;
  __device__ __forceinline__ explicit f16(f32 real) : bits((u16)pair_of_f16(real, 0.0f)) {}
  __device__ __forceinline__ operator f32() const { return half_real(bits, 0); }
};
struct bf16 {
  u16 bits;
  bf16() = default;
  __device__ __forceinline__ explicit bf16(f32 real) : bits(bf16_of(real)) {}
  __device__ __forceinline__ operator f32() const { return real_of_bf16(bits); }
};

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
