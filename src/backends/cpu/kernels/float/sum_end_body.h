// SPDX-License-Identifier: Apache-2.0
// sum_end.h for one instruction set, whose vec header the including file includes before.
#pragma once

#include "backends/cpu/kernels/float/sum_end.h"

namespace octet {
namespace {

// What becomes of a sum. By value: what is stored might be the arguments themselves, as far as the compiler knows.
struct SumEnd {
  bool clamps;
  int rounds;
  V low, high, alpha;

  explicit SumEnd(const SumEndArgs& args)
      : clamps(args.clamps),
        rounds(args.rounds),
        low(v_set(args.min)),
        high(v_set(args.max)),
        alpha(v_set(args.alpha)) {}

  V operator()(V y) const {
    y = clamps ? v_bounded(y, low, high) : v_select(v_lt(y, v_set(0.0f)), v_mul(y, alpha), y);
    if (rounds == 0) return y;
    return rounds == 1 ? v_round_f16(y) : v_round_bf16(y);
  }
};

}  // namespace
}  // namespace octet
