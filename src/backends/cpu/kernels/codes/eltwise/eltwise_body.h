// SPDX-License-Identifier: Apache-2.0
// Binary elementwise kernels of one instruction set, a register of codes at a time. The including file defines
// OCTET_ISA(name) and includes its simd header.
#pragma once

#include "backends/cpu/kernels/codes/eltwise/eltwise_args.h"

namespace octet {
namespace {

struct Add {
  static Reals apply(const BinaryArgs& args, Ints a, Ints b) {
    const Reals right = mul_f32(to_reals(b), all(args.multiplier_b));
    return multiply_add(to_reals(a), all(args.multiplier_a), right);
  }
};

struct Mul {
  static Reals apply(const BinaryArgs& args, Ints a, Ints b) {
    return mul_f32(to_reals(code_product(a, b)), all(args.multiplier_a));
  }
};

inline Ints codes_or_all(const u8* src, bool stands, Lanes lanes) {
  return stands ? all_codes(*src) : load_codes(src, lanes);
}

// Codes less their zero point, in the order of widen_in_lanes.
inline void load_centered(const u8* src, bool stands, Lanes lanes, s32 zero, Ints out[4]) {
  widen_in_lanes(codes_or_all(src, stands, lanes), out);
  for (int v = 0; v < 4; ++v) out[v] = sub_s32(out[v], all(zero));
}

template <class Op>
void binary(const BinaryRun& run) {
  const BinaryArgs& args = *run.args;
  const EpilogueArgs& e = args.epilogue;
  for (s64 i = 0; i < run.count; i += kCodes) {
    const Lanes lanes = first_codes(run.count - i);
    Ints a[4], b[4];
    load_centered(run.a + (run.a_stands ? 0 : i), run.a_stands, lanes, args.zero_a, a);
    load_centered(run.b + (run.b_stands ? 0 : i), run.b_stands, lanes, args.zero_b, b);
    Reals t[4];
    for (int v = 0; v < 4; ++v) {
      t[v] = Op::apply(args, a[v], b[v]);
      if (e.leaky) t[v] = leaky(t[v], e.alpha);
    }
    store_codes(final_codes(e, t), run.dst + i, lanes);
  }
}

}  // namespace

void OCTET_ISA(min_u8)(const BinaryRun& run) {
  for (s64 i = 0; i < run.count; i += kCodes) {
    const Lanes lanes = first_codes(run.count - i);
    const Ints a = codes_or_all(run.a + (run.a_stands ? 0 : i), run.a_stands, lanes);
    const Ints b = codes_or_all(run.b + (run.b_stands ? 0 : i), run.b_stands, lanes);
    store_codes(smaller_codes(a, b), run.dst + i, lanes);
  }
}

void OCTET_ISA(add_u8)(const BinaryRun& run) { binary<Add>(run); }
void OCTET_ISA(mul_u8)(const BinaryRun& run) { binary<Mul>(run); }

}  // namespace octet
