// SPDX-License-Identifier: Apache-2.0
// Of AVX512_BF16: a value is two of bf16, which are multiplied and added to the sum in f32.
#include "backends/cpu/kernels/float/vec_vnni.h"

namespace octet {
namespace {

inline V panel_product(V x, V weights, V sum) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(weights));
}

}  // namespace
}  // namespace octet

#define OCTET_ISA(name) name##_bf16
#include "backends/cpu/kernels/float/panel_body.h"
