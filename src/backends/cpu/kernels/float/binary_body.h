// SPDX-License-Identifier: Apache-2.0
// The binary kernels of one instruction set. The including file defines OCTET_ISA(name) and includes its vec header, and its ends.
#pragma once

#include "backends/cpu/kernels/float/binary.h"

namespace octet {
namespace {

struct BinaryParams {
  V a, b;
};

inline V binary_add(V x, V y, BinaryParams) { return v_add(x, y); }
inline V binary_add_clamp(V x, V y, BinaryParams p) { return v_bounded(v_add(x, y), p.a, p.b); }
inline V leaky(V x, V slope) { return v_select(v_lt(x, v_set(0.0f)), v_mul(x, slope), x); }
inline V binary_add_leaky_relu(V x, V y, BinaryParams p) { return leaky(v_add(x, y), p.a); }
inline V binary_div(V x, V y, BinaryParams) { return v_div(x, y); }
// A NaN in either operand is the result; the instruction alone returns y.
inline V binary_max(V x, V y, BinaryParams) { return v_select(v_eq(x, x), v_max(x, y), x); }
inline V binary_min(V x, V y, BinaryParams) { return v_select(v_eq(x, x), v_min(x, y), x); }
inline V binary_mul(V x, V y, BinaryParams) { return v_mul(x, y); }
inline V binary_prelu(V x, V y, BinaryParams) { return leaky(x, y); }
inline V binary_sub(V x, V y, BinaryParams) { return v_sub(x, y); }

template <bool kMoves>
struct Operand {
  const void* p;
  bool half;
  V value;

  Operand(const void* from, bool halves)
      : p(from), half(halves), value(v_set(v_first_of(v_load_real_n(from, 0, 1, halves)))) {}
  V at(long i) const { return kMoves ? v_load_real(p, i, half) : value; }
  V at_n(long i, int n) const { return kMoves ? v_load_real_n(p, i, n, half) : value; }
};

template <V (*kFunction)(V, V, BinaryParams), bool kMovesX, bool kMovesY>
inline void binary_row(const BinaryArgs& args) {
  const BinaryParams params = {v_set(args.a), v_set(args.b)};
  const Operand<kMovesX> x(args.x, args.x_halves);
  const Operand<kMovesY> y(args.y, args.y_halves);
  long i = 0;
  for (; i + kLanes <= args.count; i += kLanes) {
    const V z = kFunction(x.at(i), y.at(i), params);
    v_store_real(args.dst, i, z, {args.rounds, args.dst_halves});
  }
  const int rest = static_cast<int>(args.count - i);
  if (rest <= 0) return;
  const V z = kFunction(x.at_n(i, rest), y.at_n(i, rest), params);
  v_store_real_n(args.dst, i, z, rest, {args.rounds, args.dst_halves});
}

template <V (*kFunction)(V, V, BinaryParams)>
inline void run_binary(const BinaryArgs* given) {
  // By value: what is stored might be the arguments themselves, as far as the compiler knows.
  const BinaryArgs args = *given;
  if (args.count <= 0) return;
  if (args.step_x != 0) {
    return args.step_y != 0 ? binary_row<kFunction, true, true>(args)
                            : binary_row<kFunction, true, false>(args);
  }
  return args.step_y != 0 ? binary_row<kFunction, false, true>(args)
                          : binary_row<kFunction, false, false>(args);
}

}  // namespace

#define BINARY(name, op) \
  void OCTET_ISA(binary_##name)(const BinaryArgs* args) { run_binary<binary_##name>(args); }
#include "backends/cpu/kernels/float/binary.def"
#undef BINARY

}  // namespace octet
