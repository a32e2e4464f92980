// SPDX-License-Identifier: Apache-2.0
// What one call of a binary elementwise kernel gets: a run of elements whose operands step by one or stand still.
// Included by instruction-set files.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/types.h"

namespace octet {

// add: t = fma(a - zero_a, multiplier_a, fl((b - zero_b) * multiplier_b))
// min: the smaller code
// mul: t = fl((a - zero_a) * (b - zero_b) * multiplier_a), the integer product exact
struct BinaryArgs {
  s32 zero_a = 0;
  s32 zero_b = 0;
  f32 multiplier_a = 0.0f;
  f32 multiplier_b = 0.0f;
  EpilogueArgs epilogue;
};

struct BinaryRun {
  const u8* a;
  const u8* b;
  u8* dst;
  s64 count;
  bool a_stands;  // every element meets a[0]
  bool b_stands;
  const BinaryArgs* args;
};

void add_u8_plain(const BinaryRun& run);
OCTET_X86_64(void, add_u8_avx2, const BinaryRun& run);
OCTET_X86_64(void, add_u8_vnni, const BinaryRun& run);
OCTET_AARCH64(void, add_u8_neon, const BinaryRun& run);
void min_u8_plain(const BinaryRun& run);
OCTET_X86_64(void, min_u8_avx2, const BinaryRun& run);
OCTET_X86_64(void, min_u8_vnni, const BinaryRun& run);
OCTET_AARCH64(void, min_u8_neon, const BinaryRun& run);
void mul_u8_plain(const BinaryRun& run);
OCTET_X86_64(void, mul_u8_avx2, const BinaryRun& run);
OCTET_X86_64(void, mul_u8_vnni, const BinaryRun& run);
OCTET_AARCH64(void, mul_u8_neon, const BinaryRun& run);

}  // namespace octet
