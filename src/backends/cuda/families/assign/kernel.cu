// SPDX-License-Identifier: Apache-2.0
// x with some of its slices replaced, by a table that says for each slice of x which of the updates takes its place, or -1.
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::assign;

constexpr Spec s = Made::spec();

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  typedef Whole<s.access>::Type Piece;
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * kThreads;
  for (s64 at = (s64)blockIdx.x * kThreads + threadIdx.x; at < s.count; at += step) {
    const s32 update = p.table[at / s.inner];
    ((Piece*)p.y)[at] = update < 0 ? ((const Piece*)p.x)[at] : ((const Piece*)p.updates)[(s64)update * s.inner + at % s.inner];
  }
}
