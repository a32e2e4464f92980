// SPDX-License-Identifier: Apache-2.0
// Channels picked from the pixels of up to eight images: a thread makes `vector` channels of one pixel.
#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::pick;

constexpr Spec s = Made::spec();
PICK_RULES(OCTET_RULE_ASSERT)

typedef Element<s.element> T;
constexpr s32 kVector = s.vector, kVectors = vectors(s), kPixels = pixels(s);

struct Pixel {
  s64 image;
  s32 h, w;
};

// From input k or one behind it.
template <s32 k = 0>
__device__ __forceinline__ void load(T& to, const Params& p, const Pixel& pixel, const u32& pick) {
  if constexpr (k < s.inputs.count) {
    constexpr PixelStrides x = s.inputs.at[k];
    if (pick >> kInputShift == k)
      to = ((const T*)p.x[k])[pixel.image * x.image + (s64)pixel.h * x.row + (s64)pixel.w * x.pixel + (pick & 0xffffff)];
    load<k + 1>(to, p, pixel, pick);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * kThreads;
  for (s64 at = (s64)blockIdx.x * kThreads + threadIdx.x; at < count(s); at += step) {
    const s32 c = (s32)(at % kVectors) * kVector, in_image = (s32)(at / kVectors % kPixels);
    const Pixel pixel = {at / ((s64)kVectors * kPixels), in_image / s.out_w, in_image % s.out_w};
    Values<T, kVector> y;
#pragma unroll
    for (s32 e = 0; e < kVector; ++e) load(y.at[e], p, pixel, p.picks[c + e]);
    store_values<kVector * sizeof(T)>((T*)p.y + pixel.image * s.y.image + (s64)pixel.h * s.y.row + (s64)pixel.w * s.y.pixel + c, y);
  }
}
