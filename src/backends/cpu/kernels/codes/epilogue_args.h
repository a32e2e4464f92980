// SPDX-License-Identifier: Apache-2.0
// How a kernel turns accumulators into codes or reals: docs/numerics.md sections 3 and 4 as plain data.
// Included by instruction-set files: C headers only.
#pragma once

#include "core/types.h"

namespace octet {

// The codes so far are one operand of an addition, the residual's are the other (SumStage of ops/epilogue.h).
struct SumArgs {
  f32 own_multiplier = 0.0f;
  s32 own_zero_point = 0;
  s32 zero_point = 0;  // of the codes of the sum
  s32 lo = 0;
  s32 hi = 255;
  bool residual_first = false;  // which operand fma() multiplies
  // No table between the roundings, which then need not go through bytes: see kRounder.
  bool direct = false;
  f32 rounded_lo = 0.0f;  // kRounder + the first codes' lowest, less their zero point
  f32 rounded_hi = 0.0f;
  f32 residual_zero = 0.0f;  // kByteBase + the residual's zero point
};

// 2^23 * 1.5: a number of the size of a code loses its fraction, to nearest even, when this is added.
inline constexpr f32 kRounder = 12582912.0f;
// 2^23: with a code as its lowest byte the bits are a number, too.
inline constexpr f32 kByteBase = 8388608.0f;

struct EpilogueArgs {
  // Null, or 256 codes applied to the first codes, or, when `fine`, the lines of 64 segments as four rows of 64 bytes: the lower and the upper
  // bytes of where they begin, and of how they grow (core/fine_table.h). zero_point is then that of the finer codes; lo and hi are the result's.
  const u8* table = nullptr;
  f32 residual_multiplier = 0.0f;  // before rounding, or, with `sums`, of the second operand
  s32 residual_zero_point = 0;
  s32 zero_point = 0;
  s32 lo = 0;
  s32 hi = 255;
  f32 alpha = 1.0f;  // slope below zero, when `leaky`
  f32 min = 0.0f;    // bounds of a real output, when `clip`
  f32 max = 0.0f;
  bool leaky = false;
  bool clip = false;
  bool real = false;  // f32 output
  bool fine = false;
  bool sums = false;  // two roundings: codes, then their sum with the residual
  SumArgs sum;
};

}  // namespace octet
