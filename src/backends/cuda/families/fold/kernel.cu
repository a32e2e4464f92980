// SPDX-License-Identifier: Apache-2.0
// Blocks of step by step pixels with few channels become cells: channel (dy * step + dx) * channels + c of cell (h, w) is channel c of pixel
// (step * h + dy - pad_top, step * w + dx - pad_left) of x, or its zero point beyond the image. Reals are rounded to the 16 bits of a cell.
#include "backends/cuda/device/functions.cuh"

using namespace octet::cuda;
using namespace octet::cuda::fold;

constexpr Spec s = Made::spec();
FOLD_RULES(OCTET_RULE_ASSERT)

template <bool kCodes>
__device__ __forceinline__ void put(u8* cell, const u8* x, s64 at, s32 number, bool inside) {
  if constexpr (kCodes) {
    cell[number] = inside ? x[at] : (u8)(s.zero_point & 255);
  } else {
    const f32 real = inside ? ((const f32*)x)[at] : 0.0f;
    ((u16*)cell)[number] = s.number == Number::f16 ? f16_of(real) : bf16_of(real);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= (s32)cells(s)) return;
  const s32 w = i % s.width, h = i / s.width % s.height, n = i / (s.width * s.height);
  __align__(16) u8 cell[s.cell] = {};
#pragma unroll
  for (s32 dy = 0; dy < s.step; ++dy)
#pragma unroll
    for (s32 dx = 0; dx < s.step; ++dx) {
      const s32 y = h * s.step + dy - s.pad_top, x = w * s.step + dx - s.pad_left;
      const bool inside = (u32)y < (u32)s.in_h && (u32)x < (u32)s.in_w;
      const s64 from = (s64)n * s.x.image + (s64)y * s.x.row + (s64)x * s.x.pixel;
#pragma unroll
      for (s32 c = 0; c < s.channels; ++c)
        put<is_code(s.number)>(cell, p.x, from + c * s.x_channel, (dy * s.step + dx) * s.channels + c, inside);
    }
#pragma unroll
  for (s32 b = 0; b < s.cell; b += 16) *(uint4*)(p.y + (s64)i * s.cell + b) = *(const uint4*)(cell + b);
}
