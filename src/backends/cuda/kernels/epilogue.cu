// SPDX-License-Identifier: Apache-2.0
// From accumulators to codes or reals: docs/numerics.md, sections 3 and 4. Constants:
//   EPI_REAL        the result is f32
//   ZP_Y, LO, HI    of the first codes; EPI_S8: they are signed
//   EPI_RESIDUAL    RES_S8, RES_ZP, RES_M
//   EPI_LEAKY       ALPHA;  EPI_CLAMP (of reals): CLAMP_LO, CLAMP_HI
//   EPI_TABLE       codes go through the table
//   EPI_SUM         OWN_ZP, OWN_M, ADD_S8, ADD_ZP, ADD_M, ADD_FIRST, SUM_ZP, SUM_LO, SUM_HI
#ifndef EPI_RESIDUAL
#define EPI_RESIDUAL 0
#define RES_S8 0
#define RES_ZP 0
#define RES_M 0.0f
#endif
#ifndef EPI_LEAKY
#define EPI_LEAKY 0
#define ALPHA 1.0f
#endif
#ifndef EPI_CLAMP
#define EPI_CLAMP 0
#define CLAMP_LO 0.0f
#define CLAMP_HI 0.0f
#endif
#ifndef EPI_TABLE
#define EPI_TABLE 0
#endif
#ifndef EPI_SUM
#define EPI_SUM 0
#define OWN_ZP 0
#define OWN_M 0.0f
#define ADD_S8 0
#define ADD_ZP 0
#define ADD_M 0.0f
#define ADD_FIRST 0
#define SUM_ZP 0
#define SUM_LO 0
#define SUM_HI 0
#endif
#ifndef T_FITS
#define T_FITS 0
#endif
#ifndef EPI_REAL
#define EPI_REAL 0
#endif

#define OUT_BYTES (EPI_REAL ? 4 : 1)

__device__ __forceinline__ s32 code_of(u8 byte, bool is_signed) {
  return is_signed ? (s32)(s8)byte : (s32)byte;
}

// acc with the bias -> t, before codes. `residual`: less its zero point.
__device__ __forceinline__ f32 product_real(s32 acc, f32 multiplier, f32 residual) {
  f32 t = f32_mul(f32_of(acc), multiplier);
  if (EPI_RESIDUAL) t = f32_fma(residual, RES_M, t);
  if (EPI_LEAKY) t = t < 0.0f ? f32_mul(t, ALPHA) : t;
  if (EPI_CLAMP) t = clamp_f32(t, CLAMP_LO, CLAMP_HI);
  return t;
}
__device__ __forceinline__ f32 product_real(s32 acc, f32 multiplier, u8 residual) {
  return product_real(acc, multiplier, f32_of(code_of(residual, RES_S8) - RES_ZP));
}
// Byte e of a word of the residual, less its zero point: 2^23 + code is a float whose low byte is the code.
__device__ __forceinline__ f32 residual_real(u32 word, u32 e) {
  const u32 code = __byte_perm(RES_S8 ? word ^ 0x80808080u : word, 0x4B000000u, 0x7440u + e);
  return f32_add(f32_bits(code), (f32)(-8388608 - (RES_S8 ? 128 : 0) - RES_ZP));
}

#if !EPI_REAL
// Clamped before the zero point is added: rne saturates, so nothing overflows, and the code is the reference's.
__device__ __forceinline__ s32 product_code(f32 t, const u8* table, u8 addend) {
  s32 code = clamp_s32(rne(t), LO - ZP_Y, HI - ZP_Y) + ZP_Y;
  if (EPI_TABLE) code = table[EPI_S8 ? code + 128 : code];
  if (EPI_SUM) {
    const f32 own = f32_of((code & 255) - OWN_ZP), other = f32_of(code_of(addend, ADD_S8) - ADD_ZP);
    const f32 sum = ADD_FIRST ? f32_fma(other, ADD_M, f32_mul(own, OWN_M))
                              : f32_fma(own, OWN_M, f32_mul(other, ADD_M));
    code = clamp_s32(rne(sum), SUM_LO - SUM_ZP, SUM_HI - SUM_ZP) + SUM_ZP;
  }
  return code;
}
#endif

// N codes from one place to another, in one access where N is 2, 4, 8 or 16; the place is a multiple of N.
template <int N>
__device__ __forceinline__ void load_codes(u8* to, const u8* from) {
  if constexpr (N == 16) {
    *(uint4*)to = *(const uint4*)from;
  } else if constexpr (N == 8) {
    *(uint2*)to = *(const uint2*)from;
  } else if constexpr (N == 4) {
    *(u32*)to = *(const u32*)from;
  } else if constexpr (N == 2) {
    *(u16*)to = *(const u16*)from;
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = from[i];
  }
}
template <int N>
__device__ __forceinline__ void store_codes(u8* to, const u8* from) {
  load_codes<N>(to, from);
}

#if !EPI_REAL
// Four codes as a word. T_FITS: t is known to stay far within s32, so one instruction saturates two codes to the range of their type.
__device__ __forceinline__ u32 product_codes(const f32 (&t)[4], const u8* table, const u8* addend) {
#if !defined(OCTET_EMULATED) && T_FITS && !EPI_TABLE && !EPI_SUM
  s32 codes[4];
#pragma unroll
  for (s32 e = 0; e < 4; ++e) {
    codes[e] = rne(t[e]) + ZP_Y;
    if (LO > (EPI_S8 ? -128 : 0)) codes[e] = max(codes[e], LO);
    if (HI < (EPI_S8 ? 127 : 255)) codes[e] = min(codes[e], HI);
  }
  u32 high, word;
#if EPI_S8
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(codes[3]), "r"(codes[2]));
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(codes[1]), "r"(codes[0]), "r"(high));
#else
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(codes[3]), "r"(codes[2]));
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(codes[1]), "r"(codes[0]), "r"(high));
#endif
  return word;
#else
  u32 word = 0;
#pragma unroll
  for (s32 e = 0; e < 4; ++e) word |= (u32)(product_code(t[e], table, addend[e]) & 255) << (8 * e);
  return word;
#endif
}
#endif
