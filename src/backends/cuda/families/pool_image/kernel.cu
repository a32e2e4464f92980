// SPDX-License-Identifier: Apache-2.0
// Largest codes of large windows: a block has sixteen channels of an image in shared memory, and takes the largest along rows, then along columns.
#include "backends/cuda/device/larger.cuh"

using namespace octet::cuda;
using namespace octet::cuda::pool_image;

constexpr Spec s = Made::spec();
POOL_IMAGE_RULES(OCTET_RULE_ASSERT)
constexpr PoolWindow w = s.window;
constexpr s32 kSlices = slices(s);

extern __shared__ uint4 pixels[];  // of x, then of its rows' largest

// `count` taps `step` apart, those inside.
__device__ __forceinline__ uint4 largest(const uint4* from, s32 first, s32 dilation, s32 count, s32 size, s32 step) {
  const u32 lowest = s.is_signed ? 0x80808080u : 0;
  uint4 best = {lowest, lowest, lowest, lowest};
  for (s32 i = 0; i < count; ++i) {
    const s32 at = first + i * dilation;
    if ((u32)at >= (u32)size) continue;
    const uint4 codes = from[at * step];
    best.x = larger_codes<s.is_signed>(best.x, codes.x), best.y = larger_codes<s.is_signed>(best.y, codes.y);
    best.z = larger_codes<s.is_signed>(best.z, codes.z), best.w = larger_codes<s.is_signed>(best.w, codes.w);
  }
  return best;
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 image = blockIdx.x / kSlices, c = blockIdx.x % kSlices * kChannels;
  const u8* x = p.x + (s64)image * s.x.image + c;
  uint4* rows = pixels + w.in_h * w.in_w;
  for (s32 i = threadIdx.x; i < w.in_h * w.in_w; i += kThreads)
    pixels[i] = *(const uint4*)(x + (s64)(i / w.in_w) * s.x.row + (s64)(i % w.in_w) * s.x.pixel);
  __syncthreads();
  for (s32 i = threadIdx.x; i < w.in_h * w.out_w; i += kThreads)
    rows[i] = largest(pixels + i / w.out_w * w.in_w, i % w.out_w * w.stride_w - w.pad_left, w.dilation_w, w.taps_w, w.in_w, 1);
  __syncthreads();
  u8* y = p.y + (s64)image * s.y.image + c;
  for (s32 i = threadIdx.x; i < w.out_h * w.out_w; i += kThreads)
    *(uint4*)(y + (s64)(i / w.out_w) * s.y.row + (s64)(i % w.out_w) * s.y.pixel) =
        largest(rows + i % w.out_w, i / w.out_w * w.stride_h - w.pad_top, w.dilation_h, w.taps_h, w.in_h, w.out_w);
}
