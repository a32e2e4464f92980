// SPDX-License-Identifier: Apache-2.0
// Convolution of codes that no other kernel takes: weights of 16 bits, one or three spatial axes. A thread for each output, or for neighbouring
// channels where each reads one channel of its own.
#include "backends/cuda/device/epilogue.cuh"
#include "backends/cuda/device/window.cuh"

using namespace octet::cuda;
using namespace octet::cuda::conv_direct;

constexpr Spec s = Made::spec();
CONV_DIRECT_RULES(OCTET_RULE_ASSERT)

using End = Epilogue<PartOf<Made, &Spec::end>>;
using Windows = WindowOf<PartOf<Made, &Spec::window>, PartOf<Made, &Spec::x>>;
using OwnY = PartOf<Made, &Spec::y>;
using OwnResidual = PartOf<Made, &Spec::residual>;
using OwnAddend = PartOf<Made, &Spec::addend>;

template <bool kWide>
struct WeightOf {
  typedef s8 Type;
};
template <>
struct WeightOf<true> {
  typedef s16 Type;
};
typedef WeightOf<s.wide_weights>::Type Weight;

constexpr s32 kVec = s.vec, kTaps = taps(s.window), kM = s.pixels;

__device__ __forceinline__ void accumulate(s32 (&sums)[kVec], const u8* x, const Weight* weights) {
  __align__(4) u8 codes[kVec];
  Weight w[kVec];
  load_codes<kVec>(codes, x);
#pragma unroll
  for (s32 v = 0; v < kVec; ++v) w[v] = weights[v];
#pragma unroll
  for (s32 v = 0; v < kVec; ++v)
    sums[v] = (s32)((u32)sums[v] + (u32)((code_of(codes[v], s.x_signed) - s.x_zero_point) * (s32)w[v]));
}

__device__ __forceinline__ void finish(const EpilogueParams& p, const Pixel& pixel, s32 channel, const s32 (&sums)[kVec], const u8* table) {
  const s64 at = offset_of<OwnY>(pixel) + (s64)channel * s.y.c;
  __align__(4) u8 residual[kVec] = {}, addend[kVec] = {};
  if constexpr (s.end.residual) load_codes<kVec>(residual, p.residual + offset_of<OwnResidual>(pixel) + (s64)channel * s.residual.c);
  if constexpr (s.end.sum) load_codes<kVec>(addend, p.addend + offset_of<OwnAddend>(pixel) + (s64)channel * s.addend.c);
  __align__(4) u8 codes[kVec];
#pragma unroll
  for (s32 v = 0; v < kVec; ++v) {
    const s32 sum = (s32)((u32)sums[v] + (u32)p.bias[channel + v]);
    const f32 t = End::product_real(sum, p.multiplier[channel + v], residual[v]);
    if constexpr (s.end.real) {
      ((f32*)p.out)[at + v] = t;
    } else {
      codes[v] = (u8)End::product_code(t, table, addend[v]);
    }
  }
  if constexpr (!s.end.real) store_codes<kVec>(p.out + at, codes);
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const u8* table = End::near_table(p.end.table, kThreads);
  const s64 step = (s64)gridDim.x * kThreads, channels = s.channels / kVec;
  for (s64 i = (s64)blockIdx.x * kThreads + threadIdx.x; i < channels * kM; i += step) {
    // Neighbouring threads have neighbouring outputs in memory.
    const s32 channel = (s32)(s.y.c == 1 ? i % channels : i / kM) * kVec;
    const Pixel pixel = Windows::pixel_of((s32)(s.y.c == 1 ? i / channels : i % kM));
    const u8* x = p.x + (s64)(channel / s.cout) * s.cin * s.x.c;
    const Weight* weights = (const Weight*)p.weights + channel;
    s32 sums[kVec] = {};
    for (s32 tap = 0; tap < kTaps; ++tap) {
      s64 place;
      if (!Windows::tap_place(pixel, tap, place)) continue;
      for (s32 c = 0; c < s.cin; ++c)
        accumulate(sums, x + place + (s64)c * s.x.c, weights + ((s64)c * kTaps + tap) * s.channels);
    }
    finish(p.end, pixel, channel, sums, table);
  }
}
