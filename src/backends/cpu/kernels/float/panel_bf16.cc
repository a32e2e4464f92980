// SPDX-License-Identifier: Apache-2.0
// Of AVX512_BF16: a value is two of bf16, which are multiplied and added to the sum in f32. Residuals and results are f32 or bf16.
#include "backends/cpu/kernels/float/panel.h"
#include "backends/cpu/kernels/float/vec_bf16.h"

#define OCTET_ISA(name) name##_bf16
#include "backends/cpu/kernels/float/sum_end_body.h"

namespace octet {
namespace {

inline V panel_product(V x, V weights, V sum) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(weights));
}

inline V panel_residual(const PanelArgs* args, long at, int n) {
  if (args->residual_halves) return v_load_n(static_cast<const Bf16*>(args->residual) + at, n);
  return v_load_n(static_cast<const float*>(args->residual) + at, n);
}

// Where a pixel's sums go, and of the last vector how many.
template <class Out>
struct PanelPlace {
  Out* dst;
  long step;
  int rest;

  PanelPlace(const PanelArgs* args, long p, int vectors)
      : dst(static_cast<Out*>(args->dst) + p * args->dst_step),
        step(args->dst_step),
        rest(static_cast<int>(args->channels) - (vectors - 1) * kLanes) {}
};

template <class Out, int kPixels, int kVectors>
__attribute__((always_inline)) inline void store_vectors(const PanelArgs* args, long p,
                                                         const V (&sums)[kPixels * kVectors]) {
  PanelPlace<Out> at(args, p, kVectors);
#pragma GCC unroll 14
  for (int i = 0; i < kPixels; ++i, at.dst += at.step) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      v_store_n(at.dst + v * kLanes, sums[i * kVectors + v], v + 1 < kVectors ? kLanes : at.rest);
  }
}

// Sums that are not rounded yet and have no subnormals.
template <int kPixels, int kVectors>
__attribute__((always_inline)) inline void store_halves(const PanelArgs* args, long p,
                                                        const V (&sums)[kPixels * kVectors]) {
  PanelPlace<Bf16> at(args, p, kVectors);
#pragma GCC unroll 14
  for (int i = 0; i < kPixels; ++i, at.dst += at.step) {
    if (kVectors == 1) {
      _mm256_mask_storeu_epi16(at.dst, v_first(at.rest), v_halves(sums[i]));
    } else {
      const __mmask32 lanes = (__mmask32{2} << (kLanes + at.rest - 1)) - 1;
      _mm512_mask_storeu_epi16(at.dst, lanes, v_halves(sums[2 * i], sums[2 * i + 1]));
    }
  }
}

template <int kPixels, int kVectors>
__attribute__((always_inline)) inline void panel_give(const PanelArgs* args, const SumEnd& end,
                                                      long p, V (&sums)[kPixels * kVectors]) {
  if (!args->dst_halves) {
    end.finish(sums);
    return store_vectors<float, kPixels, kVectors>(args, p, sums);
  }
  end.activate(sums);
  if (__builtin_expect(!any_subnormal(sums), 1))
    return store_halves<kPixels, kVectors>(args, p, sums);
#pragma GCC unroll 28
  for (V& sum : sums) sum = v_round_bf16(sum);
  store_vectors<Bf16, kPixels, kVectors>(args, p, sums);
}

}  // namespace
}  // namespace octet

#include "backends/cpu/kernels/float/panel_singles.h"
// In the words above.
#include "backends/cpu/kernels/float/panel_body.h"
