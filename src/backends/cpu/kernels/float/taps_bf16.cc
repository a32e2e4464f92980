// SPDX-License-Identifier: Apache-2.0
// Images and results of bf16, or one of them f32.
#include "backends/cpu/kernels/float/vec_bf16.h"

#define OCTET_ISA(name) name##_bf16
#include "backends/cpu/kernels/float/taps_body.h"

namespace octet {
namespace {

template <int kRows, int kPixels, bool kWhole>
__attribute__((always_inline)) inline void tap_give(const TapPlace<Bf16>& to, const SumEnd& end,
                                                    V (&sums)[kRows * kPixels]) {
  end.activate(sums);
  if (__builtin_expect(any_subnormal(sums), 0)) {
#pragma GCC unroll 10
    for (V& sum : sums) sum = v_round_bf16(sum);
    return tap_store<kRows, kPixels, kWhole>(to, sums);
  }
#pragma GCC unroll 10
  for (int i = 0; i < kRows * kPixels; ++i) {
    Bf16* at = to.dst + i / kPixels * to.row + i % kPixels * to.pixel;
    const __m256i halves = v_halves(sums[i]);
    kWhole ? _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), halves)
           : _mm256_mask_storeu_epi16(at, v_first(to.n), halves);
  }
}

}  // namespace

void depthwise_taps_bf16(const TapsArgs* args) {
  if (!args->src_halves) return taps_of<float, Bf16>(args);
  args->dst_halves ? taps_of<Bf16, Bf16>(args) : taps_of<Bf16, float>(args);
}

void depthwise_rows_bf16(const TapRowsArgs* args) {
  if (!args->src_halves) return rows_of<float, Bf16>(args);
  args->dst_halves ? rows_of<Bf16, Bf16>(args) : rows_of<Bf16, float>(args);
}

}  // namespace octet
