// SPDX-License-Identifier: Apache-2.0
// From accumulators to codes or reals: docs/numerics.md, sections 3 and 4. A kernel that ends one product or several names each end:
//   using End = Epilogue<PartOf<Made, &Spec::end>>;
#pragma once

#include "backends/cuda/device/codes.cuh"
#include "backends/cuda/device/epilogue.h"

namespace octet::cuda {

template <class Own>
struct Epilogue {
  static constexpr EpilogueSpec s = Own::spec();

  // The sum with its bias -> t, before codes. `residual`: as residual_real() gives it, or a code.
  static __device__ __forceinline__ f32 scaled_real(f32 sum, f32 multiplier, f32 residual, f32 residual_multiplier) {
    f32 t = f32_mul(sum, multiplier);
    if (s.residual) t = f32_fma(residual, residual_multiplier, t);
    if (s.leaky) t = t < 0.0f ? f32_mul(t, value_of(s.alpha)) : t;
    if (s.clamp) t = clamp_f32(t, value_of(s.clamp_lo), value_of(s.clamp_hi));
    return t;
  }
  static __device__ __forceinline__ f32 scaled_real(f32 sum, f32 multiplier, f32 residual) {
    const f32 own = value_of(s.residual_multiplier);
    return scaled_real(sum, multiplier, residual, s.residual_halves ? own * 16777216.0f : own);
  }
  static __device__ __forceinline__ f32 product_real(s32 acc, f32 multiplier, f32 residual) {
    return scaled_real(f32_of(acc), multiplier, residual);
  }
  static __device__ __forceinline__ f32 product_real(s32 acc, f32 multiplier, u8 residual) {
    const f32 real = f32_of(code_of(residual, s.residual_signed) - s.residual_zero_point);
    return scaled_real(f32_of(acc), multiplier, real, value_of(s.residual_multiplier));
  }
  // Byte e of a word of the residual, less its zero point. Halves: a byte alone is a subnormal half, the code times 2^-24, and two become reals
  // by three instructions; the multiplier gets the factor. Else 2^23 + code is a float whose low byte is the code (in this order of operands the byte's
  // place is the instruction's constant, and 2^23 stays in a register; in the other one each place is moved into one).
  static __device__ __forceinline__ f32 residual_real(u32 word, u32 e) {
    if constexpr (s.residual_halves) {
      return half_real(__byte_perm(word, 0u, e < 2 ? 0x4140u : 0x4342u), e % 2);
    } else {
      const u32 code = __byte_perm(0x4B000000u, s.residual_signed ? word ^ 0x80808080u : word, 0x3004u + e);
      return f32_add(f32_bits(code), (f32)(-8388608 - (s.residual_signed ? 128 : 0) - s.residual_zero_point));
    }
  }

  // t between `least` and `most`, rounded, and 2^23 + 2^22: integers near that are floats at a distance of 1.
  static __device__ __forceinline__ f32 rounded(f32 t, s32 least, s32 most) {
    return f32_add(fminf(fmaxf(t, (f32)least), (f32)most), 0x1.8p+23f);
  }
  // What product_code() gives for u8 codes without a table, with no conversion between integers and floats.
  static __device__ __forceinline__ u32 sum_code(f32 t, u32 addends, u32 e) {
    const f32 own = f32_add(rounded(t, s.lo - s.zero_point, s.hi - s.zero_point), (f32)(-12582912 + s.zero_point - s.own_zero_point));
    const u32 code = __byte_perm(s.addend_signed ? addends ^ 0x80808080u : addends, 0x4B000000u, 0x7440u + e);
    const f32 other = f32_add(f32_bits(code), (f32)(-8388608 - (s.addend_signed ? 128 : 0) - s.addend_zero_point));
    return bits_of(rounded(real_sum(own, other), s.sum_lo - s.sum_zero_point, s.sum_hi - s.sum_zero_point)) + s.sum_zero_point;
  }
  static __device__ __forceinline__ f32 real_sum(f32 own, f32 other) {
    const f32 own_multiplier = value_of(s.own_multiplier), addend_multiplier = value_of(s.addend_multiplier);
    return s.addend_first ? f32_fma(other, addend_multiplier, f32_mul(own, own_multiplier))
                          : f32_fma(own, own_multiplier, f32_mul(other, addend_multiplier));
  }

  // table_lanes: a copy for each lane of a warp in a bank of its own, so that no two lanes wait for each other: the entry for code lo + i is byte
  // 128 i + 4 * lane, line i byte 256 i + 8 * lane. Four lanes' entries are stored at once, or two lanes' lines.
  static __device__ __forceinline__ void copy_table(u8* to, const u8* table, s32 thread, s32 threads) {
    if constexpr (!s.table_lanes) {
      for (s32 i = thread; i < table_bytes(s) / 4; i += threads) ((u32*)to)[i] = ((const u32*)table)[i];
    } else if constexpr (s.fine) {
      for (s32 i = thread; i < kFineLines * 16; i += threads) {
        const uint2 line = ((const uint2*)table)[i / 16];
        ((uint4*)to)[i] = uint4{line.x, line.y, line.x, line.y};
      }
    } else {
#pragma unroll 8
      for (s32 i = thread; i < (s.hi - s.lo + 1) * 8; i += threads) {
        const u32 entry = table[i / 8 + s.lo + (s.is_signed ? 128 : 0)];
        ((uint4*)to)[i] = uint4{entry, entry, entry, entry};
      }
    }
  }
  // For kernels that read a table of codes where it lies: lines come nearer first. All threads of the block call it.
  static __device__ __forceinline__ const u8* near_table(const u8* table, s32 threads) {
    if constexpr (s.fine) {
      __shared__ __align__(16) u8 copy[kFineBytes];
      copy_table(copy, table, threadIdx.x, threads);
      __syncthreads();
      return copy;
    } else {
      return table;
    }
  }
  // `offset` is modulo 2^32, as addresses of shared memory are.
  static __device__ __forceinline__ u8 load_shared_byte(const u8* shared, u32 offset) {
#ifdef OCTET_EMULATED
    return shared[offset];
#else
    u32 byte;
    asm("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(shared_address(shared) + offset));
    return (u8)byte;
#endif
  }
  // The entry for the code of t.
  static __device__ __forceinline__ u8 table_entry(f32 t, const u8* table) {
    const f32 shifted = f32_add(fminf(fmaxf(t, (f32)(s.lo - s.zero_point)), (f32)(s.hi - s.zero_point)), 0x1.8p+23f);
    return load_shared_byte(table, (bits_of(shifted) << 7) + (threadIdx.x % 32 * 4 - ((0x4B400000u + s.lo - s.zero_point) << 7)));
  }

  // What the line of t gives (device/epilogue.h). Rounded first: its finer code is that of the sum, and what saturates is exact.
  static __device__ __forceinline__ u32 fine_value(f32 t, const u8* table) {
    constexpr f32 begin = (f32)(s.fine_zero_point - 12582912) / 65536.0f;
    const u32 place = bits_of(f32_add(f32_fma_saturated(f32_add(t, 0x1.8p+23f), 0x1p-16f, begin), 2.0f));
    uint2 line;
    if constexpr (s.table_lanes) {
      line = load_shared_pair(table, __byte_perm(place, threadIdx.x % 32 * 8, 0x5524));
    } else {
      line = ((const uint2*)table)[place >> 16 & 127];
    }
    return line.x + line.y * (s.fine_shift == 21 ? place >> 1 : place);
  }
  static __device__ __forceinline__ uint2 load_shared_pair(const u8* shared, u32 offset) {
#ifdef OCTET_EMULATED
    return *(const uint2*)(shared + offset);
#else
    uint2 pair;
    asm("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(pair.x), "=r"(pair.y) : "r"(shared_address(shared) + offset));
    return pair;
#endif
  }
  static __device__ __forceinline__ s32 fine_code(u32 value) {
    if constexpr (s.fine_shift == 24) return s.is_signed ? (s32)value >> 24 : (s32)(value >> 24);
    return clamp_s32((s32)value >> s.fine_shift, s.lo, s.hi);
  }
  static __device__ __forceinline__ u32 fine_codes(const f32 (&t)[4], const u8* table) {
    u32 values[4];
#pragma unroll
    for (s32 e = 0; e < 4; ++e) values[e] = fine_value(t[e], table);
    if constexpr (s.fine_shift == 24)
      return __byte_perm(__byte_perm(values[0], values[1], 0x0073), __byte_perm(values[2], values[3], 0x0073), 0x5410);
    s32 codes[4];
#pragma unroll
    for (s32 e = 0; e < 4; ++e) codes[e] = (s32)values[e] >> s.fine_shift;
    return saturated_word(codes);
  }

  // Clamped before the zero point is added: rne saturates, so nothing overflows, and the code is the reference's.
  static __device__ __forceinline__ s32 product_code(f32 t, const u8* table, u8 addend, s32 zero_point = s.zero_point) {
    s32 code = s.fine ? 0 : clamp_s32(rne(t), s.lo - zero_point, s.hi - zero_point) + zero_point;
    if constexpr (s.fine) code = fine_code(fine_value(t, table));
    if constexpr (s.table && !s.fine && s.table_lanes) code = table_entry(t, table);
    if constexpr (s.table && !s.fine && !s.table_lanes) code = table[s.is_signed ? code + 128 : code];
    if constexpr (s.sum) {
      const f32 own = f32_of((code & 255) - s.own_zero_point), other = f32_of(code_of(addend, s.addend_signed) - s.addend_zero_point);
      code = clamp_s32(rne(real_sum(own, other)), s.sum_lo - s.sum_zero_point, s.sum_hi - s.sum_zero_point) + s.sum_zero_point;
    }
    return code;
  }

  // Four codes as a word. t_fits: one instruction saturates two codes to the range of their type.
  static __device__ __forceinline__ u32 product_codes(const f32 (&t)[4], const u8* table, const u8* addend, s32 zero_point = s.zero_point) {
#ifndef OCTET_EMULATED
    if constexpr (s.t_fits && !s.table && !s.sum) return saturated_codes(t, zero_point);
#endif
    if constexpr (s.fine && !s.sum) return fine_codes(t, table);
    if constexpr (s.sum && !s.table && !s.is_signed && s.t_fits) {
      const u32 addends = addend[0] | addend[1] << 8 | addend[2] << 16 | (u32)addend[3] << 24;
      const u32 low = __byte_perm(sum_code(t[0], addends, 0), sum_code(t[1], addends, 1), 0x0040);
      return __byte_perm(low, __byte_perm(sum_code(t[2], addends, 2), sum_code(t[3], addends, 3), 0x0040), 0x5410);
    } else if constexpr (s.table_lanes && s.table && !s.sum) {
      const u32 low = __byte_perm(table_entry(t[0], table), table_entry(t[1], table), 0x0040);
      return __byte_perm(low, __byte_perm(table_entry(t[2], table), table_entry(t[3], table), 0x0040), 0x5410);
    } else {
      u32 word = 0;
#pragma unroll
      for (s32 e = 0; e < 4; ++e) word |= (u32)(product_code(t[e], table, addend[e], zero_point) & 255) << (8 * e);
      return word;
    }
  }

#ifndef OCTET_EMULATED
  static __device__ __forceinline__ u32 saturated_codes(const f32 (&t)[4], s32 zero_point) {
    s32 codes[4];
#pragma unroll
    for (s32 e = 0; e < 4; ++e) codes[e] = rne(t[e]) + zero_point;
    return saturated_word(codes);
  }
#endif
  static __device__ __forceinline__ u32 saturated_word(s32 (&codes)[4]) {
#ifdef OCTET_EMULATED
    u32 word = 0;
    for (s32 e = 0; e < 4; ++e) word |= (u32)(clamp_s32(codes[e], s.lo, s.hi) & 255) << (8 * e);
#else
#pragma unroll
    for (s32 e = 0; e < 4; ++e) {
      if (s.lo > (s.is_signed ? -128 : 0)) codes[e] = max(codes[e], s.lo);
      if (s.hi < (s.is_signed ? 127 : 255)) codes[e] = min(codes[e], s.hi);
    }
    u32 high, word;
    if constexpr (s.is_signed) {
      asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(codes[3]), "r"(codes[2]));
      asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(codes[1]), "r"(codes[0]), "r"(high));
    } else {
      asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(codes[3]), "r"(codes[2]));
      asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(codes[1]), "r"(codes[0]), "r"(high));
    }
#endif
    return word;
  }
};

}  // namespace octet::cuda
