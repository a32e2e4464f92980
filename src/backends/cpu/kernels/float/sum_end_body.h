// SPDX-License-Identifier: Apache-2.0
// sum_end.h for one instruction set, whose vec header the including file includes before.
#pragma once

#include "backends/cpu/kernels/float/sum_end.h"

namespace octet {
namespace {

// What becomes of a sum. By value: what is stored might be the arguments themselves, as far as the compiler knows.
struct SumEnd {
  bool clamps, slopes;
  int rounds;
  V low, high, alpha;

  explicit SumEnd(const SumEndArgs& args)
      : clamps(args.clamps),
        slopes(args.alpha != 1.0f),
        rounds(args.rounds),
        low(v_set(args.min)),
        high(v_set(args.max)),
        alpha(v_set(args.alpha)) {}

  // What does not change is asked once for all of them.
  template <int kCount>
  __attribute__((always_inline)) void activate(V (&sums)[kCount]) const {
    if (clamps) {
#pragma GCC unroll 28
      for (V& y : sums) y = v_bounded(y, low, high);
    } else if (slopes) {
#pragma GCC unroll 28
      for (V& y : sums) y = v_select(v_lt(y, v_set(0.0f)), v_mul(y, alpha), y);
    }
  }
  template <int kCount>
  __attribute__((always_inline)) void finish(V (&sums)[kCount]) const {
    activate(sums);
    if (rounds == 1) {
#pragma GCC unroll 28
      for (V& y : sums) y = v_round_f16(y);
    } else if (rounds == 2) {
#pragma GCC unroll 28
      for (V& y : sums) y = v_round_bf16(y);
    }
  }
  V operator()(V y) const {
    V one[1] = {y};
    finish(one);
    return one[0];
  }
};

}  // namespace
}  // namespace octet
