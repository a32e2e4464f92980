// SPDX-License-Identifier: Apache-2.0
// f32 elementwise functions of two inputs over one row: dst[i] = f(x[i * step_x], y[i * step_y]). Plain data and function
// pointers only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"

namespace octet {

struct BinaryArgs {
  const void* x;
  const void* y;
  void* dst;
  long count;
  long step_x;  // 0 or 1
  long step_y;
  float a;         // fused activation: lowest value of a clamp, or alpha
  float b;         // highest value of a clamp
  int rounds = 0;  // results to 1: f16, 2: bf16; 0: not
  // Are bf16, for binary_*_bf16; else f32. What becomes bf16 is rounded to it.
  bool x_halves = false, y_halves = false, dst_halves = false;
};

typedef void (*BinaryFunction)(const BinaryArgs* args);

struct BinaryKernel {
  const char* name;
  const char* op;
  BinaryFunction avx2;
  BinaryFunction vnni;
  BinaryFunction neon;
  BinaryFunction bf16;  // of AVX512_BF16: what is read or written may be bf16
};

#define BINARY(name, op)                                            \
  OCTET_X86_64(void, binary_##name##_avx2, const BinaryArgs* args); \
  OCTET_X86_64(void, binary_##name##_vnni, const BinaryArgs* args); \
  OCTET_X86_64(void, binary_##name##_bf16, const BinaryArgs* args); \
  OCTET_AARCH64(void, binary_##name##_neon, const BinaryArgs* args);
#include "backends/cpu/kernels/float/binary.def"
#undef BINARY

constexpr BinaryKernel kBinaryKernels[] = {
#define BINARY(name, op) \
  {#name,                \
   op,                   \
   binary_##name##_avx2, \
   binary_##name##_vnni, \
   binary_##name##_neon, \
   binary_##name##_bf16},
#include "backends/cpu/kernels/float/binary.def"
#undef BINARY
};

}  // namespace octet
