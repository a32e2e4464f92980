// SPDX-License-Identifier: Apache-2.0
// Neighbouring elements in as few accesses as their place allows.
#pragma once

template <int kBytes>
struct Access;
template <>
struct Access<1> { typedef u8 Type; };
template <>
struct Access<2> { typedef u16 Type; };
template <>
struct Access<4> { typedef u32 Type; };
template <>
struct Access<8> { typedef uint2 Type; };
template <>
struct Access<16> { typedef uint4 Type; };

// The same as one value where there is such a type.
template <int kBytes>
struct Whole : Access<kBytes> {};
template <>
struct Whole<8> { typedef u64 Type; };

template <class T, int kCount>
struct __align__(16) Values {
  T at[kCount];
};

// kAccess bytes at a time; the place is a multiple of them.
template <int kAccess, class T, int kCount>
__device__ __forceinline__ void load_values(Values<T, kCount>& to, const T* from) {
  typedef typename Access<kAccess>::Type Piece;
#pragma unroll
  for (s32 i = 0; i < (s32)sizeof(T) * kCount / kAccess; ++i) ((Piece*)to.at)[i] = ((const Piece*)from)[i];
}
template <int kAccess, class T, int kCount>
__device__ __forceinline__ void store_values(T* to, const Values<T, kCount>& from) {
  typedef typename Access<kAccess>::Type Piece;
#pragma unroll
  for (s32 i = 0; i < (s32)sizeof(T) * kCount / kAccess; ++i) ((Piece*)to)[i] = ((const Piece*)from.at)[i];
}
