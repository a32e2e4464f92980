// SPDX-License-Identifier: Apache-2.0
// What elementwise kernels make of their results. Plain data only, since instruction-set files include it.
#pragma once

namespace octet {

struct RealType {
  int rounds;  // to 1: f16, 2: bf16; 0: not
  bool half;   // stored as bf16; else f32
};

}  // namespace octet
