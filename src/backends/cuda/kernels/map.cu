// SPDX-License-Identifier: Apache-2.0
// out[...] = BODY(a[...], b[...], c[...]) for every element of the output, inputs with strides of their own (0 repeats). Copies,
// functions of elements with any broadcast, quantization. A thread takes VEC neighbours of the last axis at a time.
// Constants:
//   OUT, A, B, C    types; only A must be there
//   AXES            X(size, stride in out, a, b, c), the last but one axis first; M(size, stride in out, first entry of the table) where
//                   a table says the offset in `a` for each index, or -1: out is FILL
//   INNER           elements of the last axis, with INNER_OUT, INNER_A, INNER_B, INNER_C; INNER_MAP: its table, where it has one
//   FIRST_OUT, FIRST_A  elements from the pointer to the first one
//   VEC             with ACCESS_OUT, ACCESS_A, ...: bytes of one load or store of an operand whose inner stride is 1
//   COUNT           vectors in all; PIECES: of one row; EACH: of one thread; INDEX: the type that counts elements
//   TABLE           TABLE[code] is table[(u8)(code ^ TABLE_FLIP)] of 256 bytes in shared memory
#define THREADS 256

#ifdef TABLE
__shared__ u8 table[256];
#endif

// STEP 0: one value for all; 1: neighbours, in accesses of so many bytes; else apart.
template <int kAccess, s64 kStep, class T>
__device__ __forceinline__ void load(Values<T, VEC>& to, const T* from, s32 count) {
  if constexpr (kStep == 0) {
    const T value = *from;
#pragma unroll
    for (s32 e = 0; e < VEC; ++e) to.at[e] = value;
  } else if constexpr (kStep == 1) {
    if (INNER % VEC == 0 || count == VEC) {
      load_values<kAccess>(to, from);
    } else {
#pragma unroll
      for (s32 e = 0; e < VEC; ++e)
        if (e < count) to.at[e] = from[e];
    }
  } else {
#pragma unroll
    for (s32 e = 0; e < VEC; ++e)
      if (e < count) to.at[e] = from[e * kStep];
  }
}

__device__ __forceinline__ void store(OUT* to, const Values<OUT, VEC>& from, s32 count) {
  if constexpr (INNER_OUT == 1) {
    if (INNER % VEC == 0 || count == VEC) return store_values<ACCESS_OUT>(to, from);
  }
#pragma unroll
  for (s32 e = 0; e < VEC; ++e)
    if (e < count) to[e * INNER_OUT] = from.at[e];
}

struct Place {
  INDEX out, a, b, c, inner;
  bool inside;
};

__device__ __forceinline__ Place place_of(const MapParams& p, INDEX vector) {
  Place at;
  __builtin_assume(vector >= 0);
  at.inner = vector % PIECES * VEC;
  INDEX rest = vector / PIECES;
  at.out = FIRST_OUT + at.inner * INNER_OUT;
  at.a = FIRST_A + at.inner * INNER_A;
  at.b = at.inner * INNER_B;
  at.c = at.inner * INNER_C;
  at.inside = true;
#define X(size, out_stride, a_stride, b_stride, c_stride) \
  {                                                       \
    const INDEX i = rest % size;                          \
    rest /= size;                                         \
    at.out += i * out_stride;                             \
    at.a += i * a_stride;                                 \
    at.b += i * b_stride;                                 \
    at.c += i * c_stride;                                 \
  }
#define M(size, out_stride, first)                     \
  {                                                    \
    const s32 from = p.maps[first + (s32)(rest % size)]; \
    at.out += rest % size * out_stride;                \
    rest /= size;                                      \
    at.a += from;                                      \
    at.inside = at.inside && from >= 0;                \
  }
  AXES
#undef X
#undef M
  return at;
}

struct Loaded {
  Values<A, VEC> a;
#ifdef B
  Values<B, VEC> b;
#endif
#ifdef C
  Values<C, VEC> c;
#endif
  u32 outside;  // one bit for each element
};

__device__ __forceinline__ void load_all(const MapParams& p, const Place& at, s32 count, Loaded& to) {
  to.outside = at.inside ? 0 : ~0u;
#ifdef INNER_MAP
#pragma unroll
  for (s32 e = 0; e < VEC; ++e) {
    const s32 from = e < count ? p.maps[INNER_MAP + (s32)at.inner + e] : -1;
    if (from < 0) to.outside |= 1u << e;
    if (!(to.outside >> e & 1)) to.a.at[e] = ((const A*)p.a)[at.a + from];
  }
#else
  if (at.inside) load<ACCESS_A, INNER_A>(to.a, (const A*)p.a + at.a, count);
#endif
#ifdef B
  load<ACCESS_B, INNER_B>(to.b, (const B*)p.b + at.b, count);
#endif
#ifdef C
  load<ACCESS_C, INNER_C>(to.c, (const C*)p.c + at.c, count);
#endif
}

__device__ __forceinline__ void finish(const MapParams& p, const Place& at, s32 count, const Loaded& from) {
  Values<OUT, VEC> out;
#pragma unroll
  for (s32 e = 0; e < VEC; ++e) {
    const A a = from.a.at[e];
#ifdef B
    const B b = from.b.at[e];
#endif
#ifdef C
    const C c = from.c.at[e];
#endif
    out.at[e] = (OUT)(BODY);
#ifdef FILL
    if (from.outside >> e & 1) out.at[e] = (OUT)FILL;
#endif
  }
  store((OUT*)p.out + at.out, out, count);
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ MapParams p) {
  let_successor_begin();
  wait_for_predecessor();
#ifdef TABLE
  table[threadIdx.x ^ TABLE_FLIP] = p.table[threadIdx.x];
  __syncthreads();
#endif
  const INDEX step = (INDEX)gridDim.x * (THREADS * EACH);
  for (INDEX first = (INDEX)blockIdx.x * (THREADS * EACH) + threadIdx.x; first < COUNT; first += step) {
    Loaded loaded[EACH];
    Place at[EACH];
#pragma unroll
    for (s32 i = 0; i < EACH; ++i) {
      const INDEX vector = first + i * THREADS;
      if (vector < COUNT) {
        at[i] = place_of(p, vector);
        load_all(p, at[i], (s32)min((INDEX)VEC, (INDEX)INNER - at[i].inner), loaded[i]);
      }
    }
#pragma unroll
    for (s32 i = 0; i < EACH; ++i) {
      if (first + i * THREADS < COUNT)
        finish(p, at[i], (s32)min((INDEX)VEC, (INDEX)INNER - at[i].inner), loaded[i]);
    }
  }
}
