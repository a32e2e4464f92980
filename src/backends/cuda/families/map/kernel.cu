// SPDX-License-Identifier: Apache-2.0
// out[...] = element(a[...], b[...], c[...]) for every element of the output, inputs with strides of their own (0 repeats). Copies, functions of
// elements with any broadcast, quantization. A thread takes `vector` neighbours of the last axis at a time.
#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::map;

constexpr Spec s = Made::spec();
MAP_RULES(OCTET_RULE_ASSERT)

typedef Element<s.out.type> Out;
typedef Element<s.a.type> A;
typedef Element<s.b.type> B;
typedef Element<s.c.type> C;
typedef Element<s.wide ? ElementType::s64 : ElementType::s32> Index;
constexpr s32 kVector = s.vector, kEach = s.each;
constexpr Index kInner = (Index)s.inner, kPieces = (Index)pieces(s), kCount = (Index)count(s);

// kStep 0: one value for all; 1: neighbours, in accesses of so many bytes; else apart.
template <int kAccess, s64 kStep, class T>
__device__ __forceinline__ void load(Values<T, kVector>& to, const T* from, s32 count) {
  if constexpr (kStep == 0) {
    const T value = *from;
#pragma unroll
    for (s32 e = 0; e < kVector; ++e) to.at[e] = value;
  } else if constexpr (kStep == 1) {
    if (kInner % kVector == 0 || count == kVector) {
      load_values<kAccess>(to, from);
    } else {
#pragma unroll
      for (s32 e = 0; e < kVector; ++e)
        if (e < count) to.at[e] = from[e];
    }
  } else {
#pragma unroll
    for (s32 e = 0; e < kVector; ++e)
      if (e < count) to.at[e] = from[e * kStep];
  }
}

__device__ __forceinline__ void store(Out* to, const Values<Out, kVector>& from, s32 count) {
  if constexpr (s.out.inner == 1) {
    if (kInner % kVector == 0 || count == kVector) return store_values<s.out.access>(to, from);
  }
#pragma unroll
  for (s32 e = 0; e < kVector; ++e)
    if (e < count) to[e * s.out.inner] = from.at[e];
}

struct Place {
  Index out, a, b, c, inner;
  bool inside;
};

// Moves `at` by the indices of axes d, d + 1, ....
template <s32 d = 0>
__device__ __forceinline__ void add_axes(const Params& p, Index& rest, Place& at) {
  if constexpr (d < s.axes.count) {
    constexpr Axis axis = s.axes.at[d];
    constexpr Index kSize = (Index)axis.size;
    if constexpr (axis.mapped) {
      const s32 from = p.maps[axis.table + (s32)(rest % kSize)];
      at.out += rest % kSize * (Index)axis.out;
      rest /= kSize;
      at.a += from;
      at.inside = at.inside && from >= 0;
    } else {
      const Index i = rest % kSize;
      rest /= kSize;
      at.out += i * (Index)axis.out;
      at.a += i * (Index)axis.a;
      at.b += i * (Index)axis.b;
      at.c += i * (Index)axis.c;
    }
    add_axes<d + 1>(p, rest, at);
  }
}

__device__ __forceinline__ Place place_of(const Params& p, Index vector) {
  Place at;
  __builtin_assume(vector >= 0);
  at.inner = vector % kPieces * kVector;
  Index rest = vector / kPieces;
  at.out = (Index)s.first_out + at.inner * (Index)s.out.inner;
  at.a = (Index)s.first_a + at.inner * (Index)s.a.inner;
  at.b = at.inner * (Index)s.b.inner;
  at.c = at.inner * (Index)s.c.inner;
  at.inside = true;
  add_axes(p, rest, at);
  return at;
}

// Of b and c those that are there.
struct Loaded {
  Values<A, kVector> a;
  Values<B, kVector> b;
  Values<C, kVector> c;
  u32 outside;  // one bit for each element
};

__device__ __forceinline__ void load_all(const Params& p, const Place& at, s32 count, Loaded& to) {
  to.outside = at.inside ? 0 : ~0u;
  if constexpr (s.inner_mapped) {
#pragma unroll
    for (s32 e = 0; e < kVector; ++e) {
      const s32 from = e < count ? p.maps[s.inner_table + (s32)at.inner + e] : -1;
      if (from < 0) to.outside |= 1u << e;
      if (!(to.outside >> e & 1)) to.a.at[e] = ((const A*)p.a)[at.a + from];
    }
  } else {
    if (at.inside) load<s.a.access, s.a.inner>(to.a, (const A*)p.a + at.a, count);
  }
  if constexpr (s.inputs > 1) load<s.b.access, s.b.inner>(to.b, (const B*)p.b + at.b, count);
  if constexpr (s.inputs > 2) load<s.c.access, s.c.inner>(to.c, (const C*)p.c + at.c, count);
}

__device__ __forceinline__ void finish(const Params& p, const Place& at, s32 count, const Loaded& from, const u8* table) {
  Values<Out, kVector> out;
#pragma unroll
  for (s32 e = 0; e < kVector; ++e) {
    out.at[e] = Made::element(from.a.at[e], from.b.at[e], from.c.at[e], table);
    if constexpr (s.filled) {
      if (from.outside >> e & 1) out.at[e] = (Out)s.fill;
    }
  }
  store((Out*)p.out + at.out, out, count);
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const u8* table = nullptr;
  if constexpr (s.table) {
    __shared__ u8 shared_table[256];
    shared_table[threadIdx.x ^ s.table_flip] = p.table[threadIdx.x];
    __syncthreads();
    table = shared_table;
  }
  const Index step = (Index)gridDim.x * (kThreads * kEach);
  for (Index first = (Index)blockIdx.x * (kThreads * kEach) + threadIdx.x; first < kCount; first += step) {
    Loaded loaded[kEach];
    Place at[kEach];
#pragma unroll
    for (s32 i = 0; i < kEach; ++i) {
      const Index vector = first + i * kThreads;
      if (vector < kCount) {
        at[i] = place_of(p, vector);
        load_all(p, at[i], (s32)min((Index)kVector, kInner - at[i].inner), loaded[i]);
      }
    }
#pragma unroll
    for (s32 i = 0; i < kEach; ++i) {
      if (first + i * kThreads < kCount)
        finish(p, at[i], (s32)min((Index)kVector, kInner - at[i].inner), loaded[i], table);
    }
  }
}
