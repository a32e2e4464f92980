// SPDX-License-Identifier: Apache-2.0
// Tables of segments for the end of a product: its sum is rounded to codes so fine that the function's own result is rounded alone
// (docs/numerics.md section 5, docs/adr/0035).
#pragma once

#include <string>

#include "graph/op_def.h"
#include "ops/shared/activation.h"

namespace octet {

// Codes of a function's result.
struct FineOutput {
  Dtype dtype = Dtype::u8;
  QuantParams params;
};

struct FineTable {
  Tensor segments;  // s32[64]
  f32 scale = 1;    // of the codes before it, and their zero point
  s32 zero_point = 0;
  f64 error = 0;       // the largest beside the rounding to a code, in codes
  std::string reject;  // why there is none; else empty
};

// More beside its rounding, in codes, and there is no such table: one of 256 codes is no worse.
inline constexpr f64 kMostFineError = 0.5;

// Of a function of single reals behind `before`. The grid follows from the function and the result's codes alone: it reaches where the function
// stops changing or leaves those codes.
FineTable fine_table(const Node& function, const Activation& before, const FineOutput& output);

}  // namespace octet
