// SPDX-License-Identifier: Apache-2.0
// f32 elementwise functions of one input: dst[i] = f(src[i]). Plain data and function pointers only, since
// instruction-set files include it.
#pragma once

#include "arch/kernel.h"

namespace octet {

struct UnaryArgs {
  const float* src;
  float* dst;
  long count;
  float a;  // Clip: lowest; LeakyRelu, Swish, HardSigmoid: alpha
  float b;  // Clip: highest; HardSigmoid: beta
};

typedef void (*UnaryFunction)(const UnaryArgs* args);

struct UnaryKernel {
  const char* name;
  const char* op;
  UnaryFunction avx2;
  UnaryFunction vnni;
};

#define UNARY(name, op)                                           \
  OCTET_X86_64(void, unary_##name##_avx2, const UnaryArgs* args); \
  OCTET_X86_64(void, unary_##name##_vnni, const UnaryArgs* args);
#include "backends/cpu/kernels/float/unary.def"
#undef UNARY

constexpr UnaryKernel kUnaryKernels[] = {
#define UNARY(name, op) {#name, op, unary_##name##_avx2, unary_##name##_vnni},
#include "backends/cpu/kernels/float/unary.def"
#undef UNARY
};

// Clip, and then to the nearest value of a 16-bit float, in one pass.
OCTET_X86_64(void, unary_clip_to_f16_avx2, const UnaryArgs* args);
OCTET_X86_64(void, unary_clip_to_f16_vnni, const UnaryArgs* args);
OCTET_X86_64(void, unary_clip_to_bf16_avx2, const UnaryArgs* args);
OCTET_X86_64(void, unary_clip_to_bf16_vnni, const UnaryArgs* args);

}  // namespace octet
