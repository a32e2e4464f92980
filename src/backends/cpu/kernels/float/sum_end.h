// SPDX-License-Identifier: Apache-2.0
// What becomes of a sum of products before it is stored. Plain data only, since instruction-set files include it.
#pragma once

namespace octet {

struct SumEndArgs {
  bool clamps;  // to [min, max]; else alpha is the slope below zero
  float min;
  float max;
  float alpha;
  int rounds;  // to 1: f16, 2: bf16; 0: not
};

}  // namespace octet
