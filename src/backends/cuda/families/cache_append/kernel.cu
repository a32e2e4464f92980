// SPDX-License-Identifier: Apache-2.0
// Rows of a cache, new ones behind those in use, and zeros. Where past and y are one memory the rows in use stay as they are.
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::cache_append;

constexpr Spec s = Made::spec();
CACHE_APPEND_RULES(OCTET_RULE_ASSERT)

typedef Access<s.access>::Type Piece;

__device__ __noinline__ void report(u64* outside, s64 length) {
  atomicMin(outside, (u64)length >> 32);
  atomicMin(outside + 1, (u64)(u32)length);
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 length = *p.length;
  const s64 thread = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (length < 0 || length > s.rows - s.update) {
    if (thread == 0) report(p.outside, length);
    return;
  }
  const s64 first = p.past == p.y ? length : 0;
  const s64 count = (s.rows - first) * s.row;  // pieces of one of `outer`
  const s64 step = (s64)gridDim.x * kThreads;
  for (s64 i = thread; i < s.outer * count; i += step) {
    const s64 outer = i / count;
    const s64 at = first * s.row + i % count;
    const s64 to = outer * s.rows * s.row + at;
    const s64 fresh = at - length * s.row;
    Piece piece = {};
    if (fresh < 0) {
      piece = ((const Piece*)p.past)[to];
    } else if (fresh < s.update * s.row) {
      piece = ((const Piece*)p.update)[outer * s.update * s.row + fresh];
    }
    ((Piece*)p.y)[to] = piece;
  }
}
