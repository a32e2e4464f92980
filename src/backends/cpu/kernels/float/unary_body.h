// SPDX-License-Identifier: Apache-2.0
// The unary kernels of one instruction set. The including file defines OCTET_ISA(name) and includes its vec header, and its ends.
#pragma once

#include "backends/cpu/kernels/float/unary.h"
#include "backends/cpu/kernels/float/vec_math.h"

namespace octet {
namespace {

struct UnaryParams {
  V a, b;
};

inline V value_abs(V x, UnaryParams) { return v_magnitude(x); }
inline V value_ceil(V x, UnaryParams) { return v_ceil(x); }
inline V value_celu(V x, UnaryParams p) {
  const V zero = v_set(0.0f);
  const V below = v_mul(p.a, v_sub(v_exp(v_div(x, p.a)), v_set(1.0f)));
  return v_add(v_max(zero, x), v_min(zero, below));
}
inline V value_clip(V x, UnaryParams p) { return v_bounded(x, p.a, p.b); }
inline V value_elu(V x, UnaryParams p) {
  const V below = v_mul(p.a, v_sub(v_exp(x), v_set(1.0f)));
  return v_select(v_lt(x, v_set(0.0f)), below, x);
}
inline V value_erf(V x, UnaryParams) { return v_erf(x); }
inline V value_exp(V x, UnaryParams) { return v_exp(x); }
inline V value_floor(V x, UnaryParams) { return v_floor(x); }
inline V value_gelu(V x, UnaryParams) { return v_gelu(x); }
inline V value_gelu_tanh(V x, UnaryParams) { return v_gelu_tanh(x); }
inline V value_hard_sigmoid(V x, UnaryParams p) { return v_hard_sigmoid(x, p.a, p.b); }
inline V value_hard_swish(V x, UnaryParams) { return v_hard_swish(x); }
inline V value_leaky_relu(V x, UnaryParams p) {
  return v_select(v_lt(x, v_set(0.0f)), v_mul(x, p.a), x);
}
inline V value_log(V x, UnaryParams) { return v_log(x); }
inline V value_mish(V x, UnaryParams) {
  const V most = v_set(20.0f);
  const V e = v_exp(v_select(v_lt(most, x), most, x));
  const V n = v_mul(e, v_add(e, v_set(2.0f)));
  return v_mul(x, v_div(n, v_add(n, v_set(2.0f))));
}
inline V value_neg(V x, UnaryParams) { return v_negate(x); }
inline V value_reciprocal(V x, UnaryParams) { return v_div(v_set(1.0f), x); }
// NaN stays: it is the second operand.
inline V value_relu(V x, UnaryParams) { return v_max(v_set(0.0f), x); }
inline V value_round(V x, UnaryParams) { return v_rne(x); }
inline V value_round_bf16(V x, UnaryParams) { return v_round_bf16(x); }
inline V value_round_f16(V x, UnaryParams) { return v_round_f16(x); }
inline V value_selu(V x, UnaryParams p) {
  const V below = v_mul(p.a, v_sub(v_exp(x), v_set(1.0f)));
  return v_mul(p.b, v_select(v_lt(v_set(0.0f), x), x, below));
}
inline V value_sigmoid(V x, UnaryParams) { return v_sigmoid(x); }
inline V value_softplus(V x, UnaryParams) {
  const V zero = v_set(0.0f), one = v_set(1.0f);
  const V t = v_exp(v_from_bits(i_or(v_bits(x), i_set(static_cast<int>(0x80000000u)))));  // -|x|
  const V u = v_add(one, t);
  const V log = v_select(v_eq(u, one), t, v_mul(v_log(u), v_div(t, v_sub(u, one))));
  return v_add(v_select(v_lt(x, zero), zero, x), log);
}
inline V value_sqrt(V x, UnaryParams) { return v_sqrt(x); }
inline V value_square(V x, UnaryParams) { return v_mul(x, x); }
inline V value_swish(V x, UnaryParams p) { return v_swish(x, p.a); }
inline V value_tanh(V x, UnaryParams) { return v_tanh(x); }

// Into f32, not rounded.
template <V (*kFunction)(V, UnaryParams), class Load, class LoadN>
inline void run_whole(const Load& load, const LoadN& load_n, float* dst, long count,
                      const UnaryParams& params) {
  long i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const V a = kFunction(load(i), params), b = kFunction(load(i + kLanes), params);
    v_store(dst + i, a);
    v_store(dst + i + kLanes, b);
  }
  for (; i + kLanes <= count; i += kLanes) v_store(dst + i, kFunction(load(i), params));
  const int rest = static_cast<int>(count - i);
  if (rest > 0) v_store_n(dst + i, kFunction(load_n(i, rest), params), rest);
}

// Rounded in a pass of its own while they lie in the first cache: one loop with the function takes longer.
inline void give_piece(const UnaryArgs& args, const float* piece, long first, long count) {
  const RealType to = {args.rounds, args.dst_halves};
  long i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes)
    v_store_pair(args.dst, first + i, v_load(piece + i), v_load(piece + i + kLanes), to);
  for (; i + kLanes <= count; i += kLanes) v_store_real(args.dst, first + i, v_load(piece + i), to);
  const int rest = static_cast<int>(count - i);
  if (rest > 0) v_store_real_n(args.dst, first + i, v_load_n(piece + i, rest), rest, to);
}

template <V (*kFunction)(V, UnaryParams)>
inline void run_unary(const UnaryArgs* given) {
  // By value: what is stored might be the arguments themselves, as far as the compiler knows.
  const UnaryArgs args = *given;
  const UnaryParams params = {v_set(args.a), v_set(args.b)};
  if (args.rounds == 0 && !args.src_halves && !args.dst_halves) {
    const float* src = static_cast<const float*>(args.src);
    return run_whole<kFunction>([=](long i) { return v_load(src + i); },
                                [=](long i, int n) { return v_load_n(src + i, n); },
                                static_cast<float*>(args.dst), args.count, params);
  }
  constexpr long kPiece = 512;
  alignas(64) float piece[kPiece];
  for (long first = 0; first < args.count; first += kPiece) {
    const long count = args.count - first < kPiece ? args.count - first : kPiece;
    run_whole<kFunction>(
        [&](long i) { return v_load_real(args.src, first + i, args.src_halves); },
        [&](long i, int n) { return v_load_real_n(args.src, first + i, n, args.src_halves); },
        piece, count, params);
    give_piece(args, piece, first, count);
  }
}

}  // namespace

#define UNARY(name, op) \
  void OCTET_ISA(unary_##name)(const UnaryArgs* args) { run_unary<value_##name>(args); }
#include "backends/cpu/kernels/float/unary.def"
#undef UNARY

}  // namespace octet
