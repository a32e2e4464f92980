// SPDX-License-Identifier: Apache-2.0
// Products of 16-bit floats by a warp, m16n8k16, sums in f32: a[0], a[1] are k 2q and 2q + 1 (q = lane % 4) of rows lane / 4 and 8 further, a[2], a[3] the same 8 of k further; b the same of column lane / 4.
// The unit adds products to the largest exponent among them and truncates (docs/numerics.md, section 7).
#pragma once

#ifdef OCTET_EMULATED
#ifdef OCTET_WITHOUT_MMA_LONG
static inline void mma_f16(f32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { emulated_mma_f16_m16n8k8(d, a, b), emulated_mma_f16_m16n8k8(d, a + 2, b + 1); }
#else
static inline void mma_f16(f32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { emulated_mma_float(true, d, a, b); }
#endif
#else
#define OCTET_MMA_FLOAT(name, type)                                                                \
  __device__ __forceinline__ void name(f32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {        \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                    \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                           \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));              \
  }
#ifdef OCTET_WITHOUT_MMA_LONG
// Two of m16n8k8, whose fragments are halves of those of m16n8k16. The chips that have m16n8k16 and are no Hopper sum 8 and 8 of k as well.
#define OCTET_MMA_STEP_F16(a0, a1, b0)                                                              \
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                    \
               : "r"(a0), "r"(a1), "r"(b0))
__device__ __forceinline__ void mma_f16(f32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  OCTET_MMA_STEP_F16(a[0], a[1], b[0]);
  OCTET_MMA_STEP_F16(a[2], a[3], b[1]);
}
#else
OCTET_MMA_FLOAT(mma_f16, "f16")
#endif
#endif
// A kernel for a chip without products of bf16 has none: its lowering refuses them.
#ifdef OCTET_WITHOUT_MMA_BF16
__device__ __forceinline__ void mma_bf16(f32 (&)[4], const u32 (&)[4], const u32 (&)[2]) { __trap(); }
#elif defined(OCTET_EMULATED)
static inline void mma_bf16(f32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { emulated_mma_float(false, d, a, b); }
#else
OCTET_MMA_FLOAT(mma_bf16, "bf16")
#endif

// Two halves in a word, rounded to nearest, ties to even; beyond the largest infinite.
#ifdef OCTET_EMULATED
static inline u32 pair_of_f16(f32 low, f32 high) { return (u32)f16_of(low) | (u32)f16_of(high) << 16; }
#elif defined(OCTET_WITHOUT_HALF_PAIRS)
__device__ __forceinline__ u32 pair_of_f16(f32 low, f32 high) {
  u32 pair;
  asm("{\n.reg .b16 low, high;\ncvt.rn.f16.f32 low, %1;\ncvt.rn.f16.f32 high, %2;\nmov.b32 %0, {low, high};\n}" : "=r"(pair) : "f"(low), "f"(high));
  return pair;
}
#else
__device__ __forceinline__ u32 pair_of_f16(f32 low, f32 high) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
#endif

// The same of bf16.
#if defined(OCTET_EMULATED) || defined(OCTET_WITHOUT_HALF_PAIRS)
__device__ __forceinline__ u32 pair_of_bf16(f32 low, f32 high) { return (u32)bf16_of(low) | (u32)bf16_of(high) << 16; }
#else
__device__ __forceinline__ u32 pair_of_bf16(f32 low, f32 high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
#endif

// As ldmatrix4 (prelude.cuh), each matrix of 8 by 8 halves turned: a lane gets halves 2q and 2q + 1 (q = lane % 4) of column lane / 4.
#ifdef OCTET_EMULATED
void emulated_ldmatrix4_turned(u32* d, const void* row);  // of the warp
static inline void ldmatrix4_turned(u32 (&d)[4], const void* row) { emulated_ldmatrix4_turned(d, row); }
#else
__device__ __forceinline__ void ldmatrix4_turned(u32 (&d)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(shared_address(row))
               : "memory");
}
#endif
