// SPDX-License-Identifier: Apache-2.0
// f32 elementwise functions of one input: dst[i] = f(src[i]). Plain data and function pointers only, since
// instruction-set files include it.
#pragma once

#include "arch/kernel.h"

namespace octet {

struct UnaryArgs {
  const void* src;
  void* dst;
  long count;
  float a = 0.0f;  // Clip: lowest; LeakyRelu, Swish, HardSigmoid: alpha
  float b = 0.0f;  // Clip: highest; HardSigmoid: beta
  int rounds = 0;  // results to 1: f16, 2: bf16; 0: not
  // Are bf16, for unary_*_bf16; else f32. What becomes bf16 is rounded to it.
  bool src_halves = false, dst_halves = false;
};

typedef void (*UnaryFunction)(const UnaryArgs* args);

struct UnaryKernel {
  const char* name;
  const char* op;
  UnaryFunction avx2;
  UnaryFunction vnni;
  UnaryFunction neon;
  UnaryFunction bf16;  // of AVX512_BF16: what is read or written may be bf16
};

#define UNARY(name, op)                                           \
  OCTET_X86_64(void, unary_##name##_avx2, const UnaryArgs* args); \
  OCTET_X86_64(void, unary_##name##_vnni, const UnaryArgs* args); \
  OCTET_X86_64(void, unary_##name##_bf16, const UnaryArgs* args); \
  OCTET_AARCH64(void, unary_##name##_neon, const UnaryArgs* args);
#include "backends/cpu/kernels/float/unary.def"
#undef UNARY

constexpr UnaryKernel kUnaryKernels[] = {
#define UNARY(name, op) \
  {#name, op, unary_##name##_avx2, unary_##name##_vnni, unary_##name##_neon, unary_##name##_bf16},
#include "backends/cpu/kernels/float/unary.def"
#undef UNARY
};

}  // namespace octet
