// SPDX-License-Identifier: Apache-2.0
// Whether two runs of bytes differ: then *differ becomes 1. Both begin at a multiple of 16. Constants: BYTES.
#define THREADS 256

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ CompareParams p) {
  const s64 first = (s64)blockIdx.x * THREADS + threadIdx.x, step = (s64)gridDim.x * THREADS;
  u32 difference = 0;
  for (s64 i = first; i < BYTES / 16; i += step) {
    const uint4 a = ((const uint4*)p.a)[i], b = ((const uint4*)p.b)[i];
    difference |= (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w);
  }
  for (s64 i = BYTES / 16 * 16 + first; i < BYTES; i += step) difference |= p.a[i] ^ p.b[i];
  if (difference != 0) *p.differ = 1;
}
