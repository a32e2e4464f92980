// SPDX-License-Identifier: Apache-2.0
// What every kernel source begins with: types, rounding as docs/numerics.md has it, and the few instructions that kernels use by
// name. No header is included. Where OCTET_EMULATED is defined the source is C++ for the host, and the functions marked so are given
// from outside (tests/gpu/emulator).
#pragma once

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef float f32;
typedef double f64;

// f32 operations that nothing fuses (sources are compiled with -fmad=false as well). f32_fma_saturated: between 0, which NaN becomes, and 1. rne: ties to even, saturating, NaN to 0. half_real: of two halves
// in a word, exactly; subnormals are kept.
#ifdef OCTET_EMULATED
static inline f32 f32_mul(f32 a, f32 b) { return a * b; }
static inline f32 f32_add(f32 a, f32 b) { return a + b; }
static inline f32 f32_div(f32 a, f32 b) { return a / b; }
static inline f32 f32_fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
static inline f32 f32_fma_saturated(f32 a, f32 b, f32 c) {
  const f32 d = __builtin_fmaf(a, b, c);
  return d > 0.0f ? (d < 1.0f ? d : 1.0f) : 0.0f;
}
static inline f32 f32_sqrt(f32 a) { return __builtin_sqrtf(a); }
static inline f32 f32_of(s32 a) { return (f32)a; }
static inline s32 rne(f32 a) {
  if (a != a) return 0;
  if (a >= 2147483648.0f) return 2147483647;
  return a < -2147483648.0f ? -2147483647 - 1 : (s32)__builtin_nearbyintf(a);
}
static inline f32 f32_bits(u32 a) { return __builtin_bit_cast(f32, a); }
static inline f32 half_real(u32 pair, u32 i) {
  const u32 half = pair >> (16 * i) & 0xFFFFu, exponent = half >> 10 & 31;
  const f32 size = exponent == 0 ? (f32)(half & 1023) / 16777216.0f
                                 : f32_bits((exponent == 31 ? 255u : exponent + 112) << 23 | (half & 1023) << 13);
  return half >> 15 != 0 ? -size : size;
}
static inline u32 bits_of(f32 a) { return __builtin_bit_cast(u32, a); }
#else
__device__ __forceinline__ f32 f32_mul(f32 a, f32 b) { return __fmul_rn(a, b); }
__device__ __forceinline__ f32 f32_add(f32 a, f32 b) { return __fadd_rn(a, b); }
__device__ __forceinline__ f32 f32_div(f32 a, f32 b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ f32 f32_fma(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ f32 f32_fma_saturated(f32 a, f32 b, f32 c) {
  f32 d;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  return d;
}
__device__ __forceinline__ f32 f32_sqrt(f32 a) { return __fsqrt_rn(a); }
__device__ __forceinline__ f32 f32_of(s32 a) { return __int2float_rn(a); }
__device__ __forceinline__ s32 rne(f32 a) { return __float2int_rn(a); }
__device__ __forceinline__ f32 f32_bits(u32 a) { return __uint_as_float(a); }
__device__ __forceinline__ f32 half_real(u32 pair, u32 i) {
  f32 real;
  if (i == 0) {
    asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %1;\ncvt.f32.f16 %0, low;\n}" : "=f"(real) : "r"(pair));
  } else {
    asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %1;\ncvt.f32.f16 %0, high;\n}" : "=f"(real) : "r"(pair));
  }
  return real;
}
__device__ __forceinline__ u32 bits_of(f32 a) { return __float_as_uint(a); }
#endif

// The value first: NaN becomes `lo`. Of positions and of what becomes codes.
__device__ __forceinline__ f32 clamp_f32(f32 x, f32 lo, f32 hi) {
  x = x > lo ? x : lo;
  return x < hi ? x : hi;
}
// Of reals that stay reals: NaN passes, and a zero keeps its sign.
__device__ __forceinline__ f32 bounded(f32 x, f32 lo, f32 hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}
__device__ __forceinline__ s32 clamp_s32(s32 x, s32 lo, s32 hi) {
  return x < lo ? lo : (x > hi ? hi : x);
}
__device__ __forceinline__ s32 requantize(f32 t, s32 zero_point, s32 lo, s32 hi) {
  return clamp_s32(rne(clamp_f32(t, -65536.0f, 65536.0f)) + zero_point, lo, hi);
}

// Four products of bytes of `a` by signed bytes of `b`, added to c; bytes of four words turned: d[i] has byte i of each.
#ifdef OCTET_EMULATED
static inline s32 dot4_u8s8(u32 a, u32 b, s32 c) {
  for (int i = 0; i < 4; ++i) c += (s32)(u8)(a >> (8 * i)) * (s32)(s8)(b >> (8 * i));
  return c;
}
static inline s32 dot4_s8s8(u32 a, u32 b, s32 c) {
  for (int i = 0; i < 4; ++i) c += (s32)(s8)(a >> (8 * i)) * (s32)(s8)(b >> (8 * i));
  return c;
}
static inline void turn_bytes(u32 (&d)[4], u32 a, u32 b, u32 c, u32 e) {
  for (int i = 0; i < 4; ++i)
    d[i] = (a >> (8 * i) & 255) | (b >> (8 * i) & 255) << 8 | (c >> (8 * i) & 255) << 16 | (e >> (8 * i)) << 24;
}
#else
__device__ __forceinline__ s32 dot4_u8s8(u32 a, u32 b, s32 c) {
  s32 d;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ __forceinline__ s32 dot4_s8s8(u32 a, u32 b, s32 c) { return __dp4a((s32)a, (s32)b, c); }
__device__ __forceinline__ void turn_bytes(u32 (&d)[4], u32 a, u32 b, u32 c, u32 e) {
  const u32 ab_low = __byte_perm(a, b, 0x5140), ab_high = __byte_perm(a, b, 0x7362);
  const u32 ce_low = __byte_perm(c, e, 0x5140), ce_high = __byte_perm(c, e, 0x7362);
  d[0] = __byte_perm(ab_low, ce_low, 0x5410), d[1] = __byte_perm(ab_low, ce_low, 0x7632);
  d[2] = __byte_perm(ab_high, ce_high, 0x5410), d[3] = __byte_perm(ab_high, ce_high, 0x7632);
}
#endif

// What a chip may lack is handed to the compiler by name (OCTET_WITHOUT_CP_ASYNC and so on: arch/instructions.h), and stands here alone in two forms.
// Matrix fragments (m16n8k32, codes by s8), shared memory by 16 bytes.
#ifdef OCTET_EMULATED
void emulated_mma(bool a_signed, s32* d, const u32* a, const u32* b);           // of the warp
void emulated_mma_m8n8k16(bool a_signed, s32* d, const u32* a, const u32* b);   // of the warp
void emulated_mma_float(bool f16, f32* d, const u32* a, const u32* b);          // of the warp
void emulated_mma_f16_m16n8k8(f32* d, const u32* a, const u32* b);              // of the warp
void emulated_ldmatrix4(u32* d, const void* row);                               // of the warp
static inline void ldmatrix4(u32 (&d)[4], const void* row) { emulated_ldmatrix4(d, row); }
#else
__device__ __forceinline__ u32 shared_address(const void* p) {
  return (u32)__cvta_generic_to_shared(p);
}
// Lane i names row i of the 32 rows of 16 bytes; d[j] is this lane's part of matrix j (rows 8j to 8j + 7).
__device__ __forceinline__ void ldmatrix4(u32 (&d)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(shared_address(row))
               : "memory");
}
#endif
#ifdef OCTET_WITHOUT_MMA_LONG
// Four of m8n8k16, whose fragments are halves of those of m16n8k32: rows lane / 4, and 8 further; bytes 4q to 4q + 3 of k (q = lane % 4), and 16 further.
#ifdef OCTET_EMULATED
#define OCTET_MMA_STEP(name, type) \
  static inline void name(s32* d, const u32* a, const u32* b) { emulated_mma_m8n8k16(type[0] == 's', d, a, b); }
#else
#define OCTET_MMA_STEP(name, type)                                                           \
  __device__ __forceinline__ void name(s32* d, const u32* a, const u32* b) {                 \
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." type ".s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};" \
                 : "+r"(d[0]), "+r"(d[1])                                                    \
                 : "r"(a[0]), "r"(b[0]));                                                    \
  }
#endif
#define OCTET_MMA(name, type)                                                                  \
  OCTET_MMA_STEP(name##_step, type)                                                            \
  __device__ __forceinline__ void name(s32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {    \
    name##_step(d, a, b), name##_step(d + 2, a + 1, b);                                        \
    name##_step(d, a + 2, b + 1), name##_step(d + 2, a + 3, b + 1);                            \
  }
#elif defined(OCTET_EMULATED)
#define OCTET_MMA(name, type) \
  static inline void name(s32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { emulated_mma(type[0] == 's', d, a, b); }
#else
#define OCTET_MMA(name, type)                                                                      \
  __device__ __forceinline__ void name(s32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {        \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." type ".s8.s32 "                          \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                           \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));              \
  }
#endif
OCTET_MMA(mma_u8s8, "u8")
OCTET_MMA(mma_s8s8, "s8")

// Copies behind the program's back, into shared memory that nobody reads before they were waited for: where the chip has none they come at once, through
// registers, which is one of the orders in which they may come.
#ifdef OCTET_WITHOUT_CP_ASYNC
__device__ __forceinline__ void copy_async16(void* shared, const void* global) { *(uint4*)shared = *(const uint4*)global; }
__device__ __forceinline__ void copy_async8(void* shared, const void* global) { *(uint2*)shared = *(const uint2*)global; }
__device__ __forceinline__ void copy_async4(void* shared, const void* global) { *(u32*)shared = *(const u32*)global; }
template <int kBytes> __device__ __forceinline__ void copy_async_or_zero(void* shared, const void* global, bool there) {
  static_assert(kBytes == 16 || kBytes == 8 || kBytes == 4, "of one access");
  if constexpr (kBytes == 16) *(uint4*)shared = there ? *(const uint4*)global : uint4{0, 0, 0, 0};
  if constexpr (kBytes == 8) *(uint2*)shared = there ? *(const uint2*)global : uint2{0, 0};
  if constexpr (kBytes == 4) *(u32*)shared = there ? *(const u32*)global : 0;
}
__device__ __forceinline__ void copy_async_commit() {}
template <int kLeft> __device__ __forceinline__ void copy_async_wait() {}
#elif defined(OCTET_EMULATED)
static inline void copy_async16(void* shared, const void* global) { __builtin_memcpy(shared, global, 16); }
static inline void copy_async8(void* shared, const void* global) { __builtin_memcpy(shared, global, 8); }
static inline void copy_async4(void* shared, const void* global) { __builtin_memcpy(shared, global, 4); }
template <int kBytes> static inline void copy_async_or_zero(void* shared, const void* global, bool there) {
  if (there) __builtin_memcpy(shared, global, kBytes);
  else __builtin_memset(shared, 0, kBytes);
}
static inline void copy_async_commit() {}
template <int kLeft> static inline void copy_async_wait() {}
#else
__device__ __forceinline__ void copy_async16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
__device__ __forceinline__ void copy_async8(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
__device__ __forceinline__ void copy_async4(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
// 16, 8 or 4 bytes; zeros, and nothing read, where nothing is there.
template <int kBytes> __device__ __forceinline__ void copy_async_or_zero(void* shared, const void* global, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(shared)), "l"(global), "n"(kBytes), "r"(there ? kBytes : 0)
               : "memory");
}
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft> __device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
#endif

// 16, 8 or 4 bytes; the places are multiples of them.
template <int kBytes> __device__ __forceinline__ void copy_async(void* shared, const void* global) {
  if constexpr (kBytes == 16) copy_async16(shared, global);
  if constexpr (kBytes == 8) copy_async8(shared, global);
  if constexpr (kBytes == 4) copy_async4(shared, global);
}

// A kernel that may begin before its predecessor has ended: nothing that the predecessor writes is read before the wait. Both do nothing
// where the launch did not ask for it.
#if !defined(OCTET_EMULATED) && !defined(OCTET_WITHOUT_PDL)
__device__ __forceinline__ void let_successor_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void wait_for_predecessor() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
__device__ __forceinline__ void let_successor_begin() {}
__device__ __forceinline__ void wait_for_predecessor() {}
#endif
