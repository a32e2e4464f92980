// SPDX-License-Identifier: Apache-2.0
// From accumulators to codes or reals: docs/numerics.md, sections 3 and 4. Constants:
//   EPI_REAL        the result is f32
//   ZP_Y, LO, HI    of the first codes; EPI_S8: they are signed
//   EPI_RESIDUAL    RES_S8, RES_ZP, RES_M; RES_HALVES: codes are u8 without a zero point, and RES_M times 2^24 is finite
//   EPI_LEAKY       ALPHA;  EPI_CLAMP (of reals): CLAMP_LO, CLAMP_HI
//   EPI_TABLE       codes go through the table; TABLE_LANES: `table` is what copy_table() wrote
//   EPI_SUM         OWN_ZP, OWN_M, ADD_S8, ADD_ZP, ADD_M, ADD_FIRST, SUM_ZP, SUM_LO, SUM_HI
#ifndef EPI_RESIDUAL
#define EPI_RESIDUAL 0
#define RES_S8 0
#define RES_ZP 0
#define RES_M 0.0f
#define RES_HALVES 0
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
#ifndef TABLE_LANES
#define TABLE_LANES 0
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

// The same for kernels that hold several.
constexpr bool kResidual = EPI_RESIDUAL, kTable = EPI_TABLE, kSum = EPI_SUM, kReal = EPI_REAL;

__device__ __forceinline__ s32 code_of(u8 byte, bool is_signed) {
  return is_signed ? (s32)(s8)byte : (s32)byte;
}

// The sum with its bias -> t, before codes. `residual`: as residual_real() gives it, or a code.
__device__ __forceinline__ f32 scaled_real(f32 sum, f32 multiplier, f32 residual, f32 residual_multiplier = RES_HALVES ? RES_M * 16777216.0f : RES_M) {
  f32 t = f32_mul(sum, multiplier);
  if (EPI_RESIDUAL) t = f32_fma(residual, residual_multiplier, t);
  if (EPI_LEAKY) t = t < 0.0f ? f32_mul(t, ALPHA) : t;
  if (EPI_CLAMP) t = clamp_f32(t, CLAMP_LO, CLAMP_HI);
  return t;
}
__device__ __forceinline__ f32 product_real(s32 acc, f32 multiplier, f32 residual) {
  return scaled_real(f32_of(acc), multiplier, residual);
}
__device__ __forceinline__ f32 product_real(s32 acc, f32 multiplier, u8 residual) {
  return scaled_real(f32_of(acc), multiplier, f32_of(code_of(residual, RES_S8) - RES_ZP), RES_M);
}
// Byte e of a word of the residual, less its zero point. Halves: a byte alone is a subnormal half, the code times 2^-24, and two become reals
// by three instructions; RES_M gets the factor. Else 2^23 + code is a float whose low byte is the code (in this order of operands the byte's
// place is the instruction's constant, and 2^23 stays in a register; in the other one each place is moved into one).
__device__ __forceinline__ f32 residual_real(u32 word, u32 e) {
#if RES_HALVES
  return half_real(__byte_perm(word, 0u, e < 2 ? 0x4140u : 0x4342u), e % 2);
#else
  const u32 code = __byte_perm(0x4B000000u, RES_S8 ? word ^ 0x80808080u : word, 0x3004u + e);
  return f32_add(f32_bits(code), (f32)(-8388608 - (RES_S8 ? 128 : 0) - RES_ZP));
#endif
}

#if !EPI_REAL
#if EPI_SUM
// t between `least` and `most`, rounded, and 2^23 + 2^22: integers near that are floats at a distance of 1.
__device__ __forceinline__ f32 rounded(f32 t, s32 least, s32 most) { return f32_add(fminf(fmaxf(t, (f32)least), (f32)most), 0x1.8p+23f); }
// What product_code() gives for u8 codes without a table, with no conversion between integers and floats.
__device__ __forceinline__ u32 sum_code(f32 t, u32 addends, u32 e) {
  const f32 own = f32_add(rounded(t, LO - ZP_Y, HI - ZP_Y), (f32)(-12582912 + ZP_Y - OWN_ZP));
  const u32 code = __byte_perm(ADD_S8 ? addends ^ 0x80808080u : addends, 0x4B000000u, 0x7440u + e);
  const f32 other = f32_add(f32_bits(code), (f32)(-8388608 - (ADD_S8 ? 128 : 0) - ADD_ZP));
  const f32 sum = ADD_FIRST ? f32_fma(other, ADD_M, f32_mul(own, OWN_M)) : f32_fma(own, OWN_M, f32_mul(other, ADD_M));
  return bits_of(rounded(sum, SUM_LO - SUM_ZP, SUM_HI - SUM_ZP)) + SUM_ZP;
}
#endif

#if TABLE_LANES
// A copy for each lane of a warp in a bank of its own, so that no two lanes wait for each other: the entry for code LO + i is byte
// 128 i + 4 * lane. Four lanes' entries are stored at once.
__device__ __forceinline__ void copy_table(u8* to, const u8* table, s32 thread, s32 threads) {
#pragma unroll 8
  for (s32 i = thread; i < (HI - LO + 1) * 8; i += threads) {
    const u32 entry = table[i / 8 + LO + (EPI_S8 ? 128 : 0)];
    ((uint4*)to)[i] = uint4{entry, entry, entry, entry};
  }
}
// `offset` is modulo 2^32, as addresses of shared memory are.
__device__ __forceinline__ u8 load_shared_byte(const u8* shared, u32 offset) {
#ifdef OCTET_EMULATED
  return shared[offset];
#else
  u32 byte;
  asm("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(shared_address(shared) + offset));
  return (u8)byte;
#endif
}
// The entry for the code of t.
__device__ __forceinline__ u8 table_entry(f32 t, const u8* table) {
  const f32 shifted = f32_add(fminf(fmaxf(t, (f32)(LO - ZP_Y)), (f32)(HI - ZP_Y)), 0x1.8p+23f);
  return load_shared_byte(table, (bits_of(shifted) << 7) + (threadIdx.x % 32 * 4 - ((0x4B400000u + LO - ZP_Y) << 7)));
}
#endif

// Clamped before the zero point is added: rne saturates, so nothing overflows, and the code is the reference's.
__device__ __forceinline__ s32 product_code(f32 t, const u8* table, u8 addend, s32 zero_point = ZP_Y) {
  s32 code = clamp_s32(rne(t), LO - zero_point, HI - zero_point) + zero_point;
#if TABLE_LANES
  if (EPI_TABLE) code = table_entry(t, table);
#else
  if (EPI_TABLE) code = table[EPI_S8 ? code + 128 : code];
#endif
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
__device__ __forceinline__ u32 product_codes(const f32 (&t)[4], const u8* table, const u8* addend, s32 zero_point = ZP_Y) {
#if !defined(OCTET_EMULATED) && T_FITS && !EPI_TABLE && !EPI_SUM
  s32 codes[4];
#pragma unroll
  for (s32 e = 0; e < 4; ++e) {
    codes[e] = rne(t[e]) + zero_point;
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
#elif EPI_SUM && !EPI_TABLE && !EPI_S8 && T_FITS
  const u32 addends = addend[0] | addend[1] << 8 | addend[2] << 16 | (u32)addend[3] << 24;
  const u32 low = __byte_perm(sum_code(t[0], addends, 0), sum_code(t[1], addends, 1), 0x0040);
  return __byte_perm(low, __byte_perm(sum_code(t[2], addends, 2), sum_code(t[3], addends, 3), 0x0040), 0x5410);
#elif TABLE_LANES && EPI_TABLE && !EPI_SUM
  const u32 low = __byte_perm(table_entry(t[0], table), table_entry(t[1], table), 0x0040);
  return __byte_perm(low, __byte_perm(table_entry(t[2], table), table_entry(t[3], table), 0x0040), 0x5410);
#else
  u32 word = 0;
#pragma unroll
  for (s32 e = 0; e < 4; ++e) word |= (u32)(product_code(t[e], table, addend[e], zero_point) & 255) << (8 * e);
  return word;
#endif
}
#endif
