// SPDX-License-Identifier: Apache-2.0
// Sums of reals -> what is stored. A kernel names its end:
//   using End = RealEnding<PartOf<Made, &Spec::end>>;  // or RealEnding<PartOf<Made, &Spec::end>, true>
#pragma once

#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/math.cuh"
#include "backends/cuda/device/functions.cuh"
#include "backends/cuda/device/half_pairs.cuh"
#include "backends/cuda/device/mma_float.cuh"
#include "backends/cuda/device/powers.cuh"
#include "backends/cuda/device/real_end.h"

namespace octet::cuda {

// Neighbours in one access, as words: bytes of an array would be taken apart and put together one by one.
template <int kBytes>
struct PieceWord {
  typedef u32 Type;
};
template <>
struct PieceWord<2> {
  typedef u16 Type;
};
template <>
struct PieceWord<1> {
  typedef u8 Type;
};
template <int kBytes>
struct alignas(kBytes < 16 ? kBytes : 16) Piece {
  typedef typename PieceWord<kBytes>::Type Word;
  Word words[kBytes / sizeof(Word)];
};
template <int kBytes>
__device__ __forceinline__ Piece<kBytes> piece_at(const void* from) {
  return *(const Piece<kBytes>*)from;
}

template <int kBytes>
__device__ __forceinline__ u8 code_at(const Piece<kBytes>& piece, s32 e) {
  return (u8)((u32)piece.words[e / 4] >> (8 * (e % 4)));
}
// Number `e` of a piece; a code as it is.
template <Number kType, int kBytes>
__device__ __forceinline__ f32 real_at(const Piece<kBytes>& piece, s32 e) {
  if constexpr (kType == Number::u8) return centered(code_at(piece, e), 0);
  if constexpr (kType == Number::s8) return centered((s8)code_at(piece, e), 0);
  if constexpr (kType == Number::f16) return half_real((u32)piece.words[e / 2], e % 2);
  if constexpr (kType == Number::bf16) return f32_bits(e % 2 != 0 ? piece.words[e / 2] & 0xFFFF0000u : (u32)piece.words[e / 2] << 16);
  if constexpr (kType == Number::f32) return f32_bits(piece.words[e]);
  return 0.0f;
}

template <Number kType>
__device__ __forceinline__ f32 rounded_to(f32 t) {
  if constexpr (kType == Number::f16) return half_real(pair_of_f16(t, 0.0f), 0);
  if constexpr (kType == Number::bf16) return real_of_bf16(bf16_of(t));
  return t;
}

// Reals of f32, or of 16 bits.
template <Number kType, s32 kCount>
__device__ __forceinline__ Piece<bytes_of(kType) * kCount> packed_reals(const f32 (&t)[kCount]) {
  constexpr s32 kBytes = bytes_of(kType);
  Piece<kBytes * kCount> out;
#pragma unroll
  for (s32 e = 0; e < kCount; e += kCount < 4 / kBytes ? kCount : 4 / kBytes) {
    u32 word = 0;
    if constexpr (kType == Number::f32) {
      word = bits_of(t[e]);
    } else {
      word = half_pair<kType>(t[e], kCount > 1 ? t[e + (kCount > 1)] : 0.0f);
    }
    out.words[e * kBytes / (s32)sizeof(out.words[0])] = (typename Piece<kBytes * kCount>::Word)word;
  }
  return out;
}

// kClose: the sums are close, and so may functions of them be.
template <class Own, bool kClose = false>
struct RealEnding {
  static constexpr RealEnd s = Own::spec();
  static constexpr s32 kYBytes = bytes_of(s.y), kResidualBytes = bytes_of(s.residual_type);

  static constexpr bool kFunction = s.function.kind != EndFunction::none;
  // Reals that are stored in the type that they are rounded to are rounded as they are stored, and bounded then, two at once: rounding keeps their order, and so does a bound that is rounded.
  static constexpr Number kLastRounded = s.residual_last ? s.sum_rounded : kFunction ? s.function.rounded : s.rounded;
  static constexpr bool kStoresRounded = (s.y == Number::f16 || s.y == Number::bf16) && kLastRounded == s.y;
  static constexpr bool kBoundsPairs = kStoresRounded && !kFunction && !s.residual_last && s.clamp && s.clamp_hi.bits != 0x80000000u;

  // As bounded(): of what is no -0 the larger and the smaller one are an instruction each.
  static __device__ __forceinline__ f32 bounded_sum(f32 sum) {
    const f32 lo = value_of(s.clamp_lo), hi = value_of(s.clamp_hi);
#ifndef OCTET_EMULATED  // which keeps a NaN's bits
    if constexpr (s.clamp_hi.bits != 0x80000000u) return min_or_nan(max_or_nan(sum, lo), hi);
#endif
    return bounded(sum, lo, hi);
  }
  static __device__ __forceinline__ f32 function_of(f32 x) {
    constexpr EndFunction kKind = s.function.kind;
    const f32 first = value_of(s.function.first);
    if constexpr (kClose && kStoresRounded) {
      if constexpr (kKind == EndFunction::sigmoid) return close_sigmoid(x);
      if constexpr (kKind == EndFunction::swish) return close_swish(x, first);
      if constexpr (kKind == EndFunction::gelu) return close_gelu(x);
      if constexpr (kKind == EndFunction::gelu_tanh) return close_gelu_tanh(x);
    }
    if constexpr (kKind == EndFunction::sigmoid) return math_sigmoid(x);
    if constexpr (kKind == EndFunction::swish) return math_swish(x, first);
    if constexpr (kKind == EndFunction::hard_swish) return math_hard_swish(x);
    if constexpr (kKind == EndFunction::hard_sigmoid) return math_hard_sigmoid(x, first, value_of(s.function.second));
    if constexpr (kKind == EndFunction::gelu) return math_gelu(x);
    if constexpr (kKind == EndFunction::gelu_tanh) return math_gelu_tanh(x);
    if constexpr (kKind == EndFunction::tanh) return math_tanh(x);
    if constexpr (kKind == EndFunction::mish) return real_mish(x);
    return x;
  }

  // Of what real_at() gave.
  static __device__ __forceinline__ f32 residual_real(f32 residual) {
    if constexpr (!is_code(s.residual_type)) return residual;
    return rounded_to<s.residual_rounded>(f32_mul(f32_add(residual, (f32)-s.residual_zero_point), value_of(s.residual_scale)));
  }

  // The sum of all products -> the layer's real, which packed() rounds where it is stored in the type that it is rounded to. With its bias no sum is -0.
  static __device__ __forceinline__ f32 real_of(f32 sum, f32 bias, f32 residual) {
    if constexpr (s.bias) sum = f32_add(sum, bias);
    if constexpr (s.residual && !s.residual_last) sum = f32_add(sum, residual_real(residual));
    if constexpr (s.leaky) sum = sum < 0.0f ? f32_mul(sum, value_of(s.alpha)) : sum;
    if constexpr (s.clamp && !kBoundsPairs) sum = bounded_sum(sum);
    if constexpr (kFunction) sum = function_of(rounded_to<s.rounded>(sum));
    if constexpr (s.residual_last) sum = f32_add(rounded_to<kFunction ? s.function.rounded : s.rounded>(sum), residual_real(residual));
    return rounded_to<kStoresRounded ? Number::f32 : kLastRounded>(sum);
  }
  static __device__ __forceinline__ u32 stored_pair(f32 low, f32 high) {
    u32 pair = half_pair<s.y>(low, high);
    if constexpr (kBoundsPairs) {
      constexpr u32 kInfinity = 0x7f800000u;
      const f32 lo = value_of(s.clamp_lo), hi = value_of(s.clamp_hi);
      if constexpr (s.clamp_lo.bits != (kInfinity | 0x80000000u)) pair = max_pair<s.y>(pair, half_pair<s.y>(lo, lo));
      if constexpr (s.clamp_hi.bits != kInfinity) pair = min_pair<s.y>(pair, half_pair<s.y>(hi, hi));
    }
    return pair;
  }

  static __device__ __forceinline__ u32 code_of(f32 t) {
    return (u32)quantized(t, value_of(s.scale), value_of(s.reciprocal), s.zero_point, s.lo, s.hi) & 255u;
  }

  template <s32 kCount>
  static __device__ __forceinline__ Piece<kYBytes * kCount> packed(const f32 (&t)[kCount]) {
    if constexpr (is_code(s.y)) {
      Piece<kYBytes * kCount> out;
#pragma unroll
      for (s32 e = 0; e < kCount; e += kCount < 4 ? kCount : 4) {
        u32 word = 0;
#pragma unroll
        for (s32 i = 0; i < (kCount < 4 ? kCount : 4); ++i) word |= code_of(t[e + i]) << (8 * i);
        out.words[e / (s32)sizeof(out.words[0])] = (typename Piece<kYBytes * kCount>::Word)word;
      }
      return out;
    } else if constexpr (kBoundsPairs) {
      Piece<kYBytes * kCount> out;
#pragma unroll
      for (s32 e = 0; e < kCount; e += kCount < 2 ? kCount : 2) {
        const u32 word = stored_pair(t[e], kCount > 1 ? t[e + (kCount > 1)] : 0.0f);
        out.words[e * kYBytes / (s32)sizeof(out.words[0])] = (typename Piece<kYBytes * kCount>::Word)word;
      }
      return out;
    } else {
      return packed_reals<s.y>(t);
    }
  }

  // `kCount` neighbouring channels with these biases, at these elements of y and of the residual.
  template <s32 kCount>
  static __device__ __forceinline__ void store_at(const RealEndParams& p, s64 y, s64 residual_at, const f32 (&sums)[kCount], const f32 (&bias)[kCount]) {
    Piece<kResidualBytes * kCount> added;
    if constexpr (s.residual) added = piece_at<kResidualBytes * kCount>((const u8*)p.residual + residual_at * kResidualBytes);
    f32 t[kCount];
#pragma unroll
    for (s32 e = 0; e < kCount; ++e) t[e] = real_of(sums[e], bias[e], s.residual ? real_at<s.residual_type>(added, e) : 0.0f);
    *(Piece<kYBytes * kCount>*)((u8*)p.y + y * kYBytes) = packed(t);
  }
  // The same from channel `channel` on.
  template <s32 kCount>
  static __device__ __forceinline__ void store(const RealEndParams& p, s32 channel, s64 y, s64 residual_at, const f32 (&sums)[kCount]) {
    f32 bias[kCount];
#pragma unroll
    for (s32 e = 0; e < kCount; ++e) bias[e] = s.bias ? p.bias[channel + e] : 0.0f;
    store_at(p, y, residual_at, sums, bias);
  }
};

}  // namespace octet::cuda
