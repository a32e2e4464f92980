// SPDX-License-Identifier: Apache-2.0
// Conversions between f16 or bf16 and f32 over one dense row. Plain data only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"

namespace octet {

struct CastArgs {
  const void* src;
  void* dst;
  long count;
};

typedef void (*CastFunction)(const CastArgs* args);

OCTET_X86_64(void, cast_f16_to_f32_avx2, const CastArgs* args);
OCTET_X86_64(void, cast_f32_to_f16_avx2, const CastArgs* args);
OCTET_X86_64(void, cast_f32_to_bf16_avx2, const CastArgs* args);
OCTET_AARCH64(void, cast_f16_to_f32_neon, const CastArgs* args);
OCTET_AARCH64(void, cast_f32_to_f16_neon, const CastArgs* args);
OCTET_AARCH64(void, cast_f32_to_bf16_neon, const CastArgs* args);

struct CastKernels {
  CastFunction f16_to_f32, f32_to_f16, f32_to_bf16;
};
constexpr CastKernels kCastsAvx2 = {cast_f16_to_f32_avx2, cast_f32_to_f16_avx2,
                                    cast_f32_to_bf16_avx2};
constexpr CastKernels kCastsNeon = {cast_f16_to_f32_neon, cast_f32_to_f16_neon,
                                    cast_f32_to_bf16_neon};

// Values of bf16 that are kept as f32: nothing to round.
OCTET_X86_64(void, narrow_to_bf16_vnni, const CastArgs* args);
OCTET_X86_64(void, widen_bf16_vnni, const CastArgs* args);
// `count` pixels of three numbers of bf16 to pixels of four, the last of which is zero.
OCTET_X86_64(void, pad_three_vnni, const CastArgs* args);

}  // namespace octet
