// SPDX-License-Identifier: Apache-2.0
// Types and functions of CUDA C++ that kernels may use, for the host. Included inside the kernel's unnamed namespace (shim.h).

EmulatedState emulated;

using uint3 = EmulatedDim;
using dim3 = EmulatedDim;

#define EMULATED_VECTOR(T, name, bytes)                                      \
  struct name##1 {                                                           \
    T x;                                                                     \
  };                                                                         \
  struct __attribute__((aligned(2 * bytes))) name##2 {                       \
    T x, y;                                                                  \
  };                                                                         \
  struct name##3 {                                                           \
    T x, y, z;                                                               \
  };                                                                         \
  struct __attribute__((aligned(4 * bytes > 16 ? 16 : 4 * bytes))) name##4 { \
    T x, y, z, w;                                                            \
  };                                                                         \
  inline name##1 make_##name##1(T x) { return {x}; }                         \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                 \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }         \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMULATED_VECTOR(signed char, char, 1)
EMULATED_VECTOR(unsigned char, uchar, 1)
EMULATED_VECTOR(short, short, 2)
EMULATED_VECTOR(unsigned short, ushort, 2)
EMULATED_VECTOR(int, int, 4)
EMULATED_VECTOR(long long, longlong, 8)
EMULATED_VECTOR(unsigned long long, ulonglong, 8)
EMULATED_VECTOR(float, float, 4)
EMULATED_VECTOR(double, double, 8)
struct uint1 {
  unsigned x;
};
struct __attribute__((aligned(8))) uint2 {
  unsigned x, y;
};
struct __attribute__((aligned(16))) uint4 {
  unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

#define EMULATED_MIN_MAX(T)                        \
  inline T min(T a, T b) { return b < a ? b : a; } \
  inline T max(T a, T b) { return a < b ? b : a; }
EMULATED_MIN_MAX(int)
EMULATED_MIN_MAX(unsigned)
EMULATED_MIN_MAX(long)
EMULATED_MIN_MAX(unsigned long)
EMULATED_MIN_MAX(long long)
EMULATED_MIN_MAX(unsigned long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline int abs(int a) { return a < 0 ? -a : a; }

template <class To, class From>
inline To emulated_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
inline int __float_as_int(float a) { return emulated_bits<int>(a); }
inline unsigned __float_as_uint(float a) { return emulated_bits<unsigned>(a); }
inline float __int_as_float(int a) { return emulated_bits<float>(a); }
inline float __uint_as_float(unsigned a) { return emulated_bits<float>(a); }

inline int __clz(int a) { return a == 0 ? 32 : __builtin_clz((unsigned)a); }
inline int __popc(unsigned a) { return __builtin_popcount(a); }
inline int __ffs(int a) { return __builtin_ffs(a); }
inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned long long bytes = (unsigned long long)high << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> (4 * i);
    unsigned byte = (unsigned)(bytes >> (8 * (pick & 7))) & 255;
    if (pick & 8) byte = byte & 128 ? 255 : 0;  // the sign of that byte
    result |= byte << (8 * i);
  }
  return result;
}

// As dp4a.A.B of PTX, sums modulo 2^32. The names that end in two letters are the mixed forms, which CUDA C++ has no word for.
template <class A, class B>
inline unsigned emulated_dot(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (unsigned)((int)(A)(a >> i) * (int)(B)(b >> i));
  return c;
}
inline int __dp4a(int a, int b, int c) {
  return (int)emulated_dot<signed char, signed char>((unsigned)a, (unsigned)b, (unsigned)c);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return emulated_dot<unsigned char, unsigned char>(a, b, c);
}
inline int __dp4a(char4 a, char4 b, int c) {
  return __dp4a(emulated_bits<int>(a), emulated_bits<int>(b), c);
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return __dp4a(emulated_bits<unsigned>(a), emulated_bits<unsigned>(b), c);
}
inline int emulated_dp4a_us(unsigned a, unsigned b, int c) {
  return (int)emulated_dot<unsigned char, signed char>(a, b, (unsigned)c);
}
inline int emulated_dp4a_su(unsigned a, unsigned b, int c) {
  return (int)emulated_dot<signed char, unsigned char>(a, b, (unsigned)c);
}

// One thread runs at a time.
template <class T>
inline T emulated_exchange(T* at, T value) {
  const T old = *at;
  *at = value;
  return old;
}
template <class T>
struct EmulatedSame {
  using Type = T;
};
template <class T>
using EmulatedValue = typename EmulatedSame<T>::Type;
#define EMULATED_ATOMIC(name, result)            \
  template <class T>                             \
  inline T name(T* at, EmulatedValue<T> value) { \
    return emulated_exchange(at, (T)(result));   \
  }
EMULATED_ATOMIC(atomicAdd, *at + value)
EMULATED_ATOMIC(atomicSub, *at - value)
EMULATED_ATOMIC(atomicMin, value < *at ? value : *at)
EMULATED_ATOMIC(atomicMax, *at < value ? value : *at)
EMULATED_ATOMIC(atomicAnd, *at& value)
EMULATED_ATOMIC(atomicOr, *at | value)
EMULATED_ATOMIC(atomicXor, *at ^ value)
EMULATED_ATOMIC(atomicExch, value)
template <class T>
inline T atomicCAS(T* at, EmulatedValue<T> expected, EmulatedValue<T> value) {
  return emulated_exchange(at, *at == expected ? value : *at);
}

#define EMULATED_LOAD(name)    \
  template <class T>           \
  inline T name(const T* at) { \
    return *at;                \
  }
EMULATED_LOAD(__ldg)
EMULATED_LOAD(__ldca)
EMULATED_LOAD(__ldcg)
EMULATED_LOAD(__ldcs)
#define EMULATED_STORE(name)                        \
  template <class T>                                \
  inline void name(T* at, EmulatedValue<T> value) { \
    *at = value;                                    \
  }
EMULATED_STORE(__stwb)
EMULATED_STORE(__stcg)
EMULATED_STORE(__stcs)
EMULATED_STORE(__stwt)
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {}
inline void __trap() { emulated.services->trap("__trap()"); }

// What waits for other threads leaves a mark in the object file, so that sources without it run faster. Functions that are not used
// are not compiled.
#define EMULATED_WAITS() \
  asm volatile(".pushsection emulated_waits,\"aw\"\n.byte 1\n.popsection" ::: "memory")
inline void __syncthreads() {
  EMULATED_WAITS();
  emulated.services->barrier();
  asm volatile("" ::: "memory");
}
inline int __syncthreads_or(int value) {
  static int any;  // of the block: one runs at a time
  __syncthreads();
  any = 0;
  __syncthreads();
  if (value != 0) any = 1;
  __syncthreads();
  return any;
}
inline void emulated_meet(unsigned mask, EmulatedWork work, void* mine) {
  EMULATED_WAITS();
  emulated.services->exchange(mask, work, mine);
  asm volatile("" ::: "memory");
}
inline void emulated_nothing(void**, unsigned) {}
inline void __syncwarp(unsigned mask = ~0u) { emulated_meet(mask, emulated_nothing, &emulated); }

template <class T>
struct EmulatedShuffle {
  T value;
  unsigned source;
};
template <class T>
inline void emulated_shuffle_all(void** lanes, unsigned present) {
  T values[32];
  memset(values, 0xA5, sizeof values);
  for (int i = 0; i < 32; ++i)
    if (present >> i & 1) values[i] = static_cast<EmulatedShuffle<T>*>(lanes[i])->value;
  for (int i = 0; i < 32; ++i) {
    if (!(present >> i & 1)) continue;
    EmulatedShuffle<T>& lane = *static_cast<EmulatedShuffle<T>*>(lanes[i]);
    lane.value = values[lane.source];
  }
}
template <class T>
inline T emulated_shuffle(unsigned mask, T value, unsigned source) {
  EmulatedShuffle<T> mine = {value, source};
  emulated_meet(mask, emulated_shuffle_all<T>, &mine);
  return mine.value;
}
// Beyond the part of `width` lanes a lane gets its own value.
template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  return emulated_shuffle(mask, value,
                          (emulated.lane & ~(width - 1u)) | ((unsigned)from & (width - 1u)));
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const unsigned lane = emulated.lane, from = lane ^ (unsigned)bits;
  return emulated_shuffle(mask, value, from > (lane | (width - 1u)) ? lane : from);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = emulated.lane, from = lane + by;
  return emulated_shuffle(mask, value, from > (lane | (width - 1u)) ? lane : from);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = emulated.lane, first = lane & ~(width - 1u);
  return emulated_shuffle(mask, value, lane < first + by ? lane : lane - by);
}

inline void emulated_ballot(void** lanes, unsigned present) {
  unsigned votes = 0;
  for (int i = 0; i < 32; ++i)
    if ((present >> i & 1) && *static_cast<unsigned*>(lanes[i])) votes |= 1u << i;
  for (int i = 0; i < 32; ++i)
    if (present >> i & 1) *static_cast<unsigned*>(lanes[i]) = votes;
}
inline unsigned __ballot_sync(unsigned mask, int vote) {
  unsigned mine = vote != 0;
  emulated_meet(mask, emulated_ballot, &mine);
  return mine;
}
inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, !vote) == 0; }

// Of the prelude, in place of its copies that come at once: what they write to is undefined until they are waited for.
struct EmulatedCopy {
  void* to;
  const void* from;  // null: zeros
  unsigned bytes;
};
inline void emulated_copy(const void* what) {
  const EmulatedCopy copy = *(const EmulatedCopy*)what;
  if (copy.from != nullptr)
    memcpy(copy.to, copy.from, copy.bytes);
  else
    memset(copy.to, 0, copy.bytes);
}
inline void emulated_copy_later(void* to, const void* from, unsigned bytes) {
  EMULATED_WAITS();
  const EmulatedCopy copy = {to, from, bytes};
  memset(to, 0xA5, bytes);
  emulated.services->later(kEmulatedCopies, emulated_copy, &copy, sizeof copy);
}
#ifndef OCTET_WITHOUT_CP_ASYNC
inline void copy_async16(void* to, const void* from) { emulated_copy_later(to, from, 16); }
inline void copy_async8(void* to, const void* from) { emulated_copy_later(to, from, 8); }
inline void copy_async4(void* to, const void* from) { emulated_copy_later(to, from, 4); }
template <int kBytes>
inline void copy_async_or_zero(void* to, const void* from, bool there) {
  emulated_copy_later(to, there ? from : nullptr, kBytes);
}
inline void copy_async_commit() { emulated.services->end_group(kEmulatedCopies); }
template <int kLeft>
inline void copy_async_wait() {
  emulated.services->come(kEmulatedCopies, kLeft);
  asm volatile("" ::: "memory");
}
#endif

inline void emulated_wait_for_predecessor() {
  emulated.services->wait_for_predecessor();
  asm volatile("" ::: "memory");
}

// Of the prelude: all lanes of the warp take part.
inline void emulated_mma(bool a_signed, int* d, const unsigned* a, const unsigned* b) {
  EmulatedMma mine = {a_signed, d, a, b};
  emulated_meet(~0u, emulated.services->mma, &mine);
}
inline void emulated_mma_m8n8k16(bool a_signed, int* d, const unsigned* a, const unsigned* b) {
  EmulatedMma mine = {a_signed, d, a, b};
  emulated_meet(~0u, emulated.services->mma_m8n8k16, &mine);
}
inline void emulated_mma_f16_m16n8k8(float* d, const unsigned* a, const unsigned* b) {
  EmulatedMmaFloat mine = {true, d, a, b};
  emulated_meet(~0u, emulated.services->mma_f16_m16n8k8, &mine);
}
inline void emulated_mma_float(bool f16, float* d, const unsigned* a, const unsigned* b) {
  EmulatedMmaFloat mine = {f16, d, a, b};
  emulated_meet(~0u, emulated.services->mma_float, &mine);
}
inline void emulated_ldmatrix4(unsigned* d, const void* row) {
  EmulatedLdmatrix mine = {row, d, false};
  emulated_meet(~0u, emulated.services->ldmatrix, &mine);
}
inline void emulated_ldmatrix4_turned(unsigned* d, const void* row) {
  EmulatedLdmatrix mine = {row, d, true};
  emulated_meet(~0u, emulated.services->ldmatrix, &mine);
}
