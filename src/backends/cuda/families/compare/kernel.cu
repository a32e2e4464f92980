// SPDX-License-Identifier: Apache-2.0
// Whether two runs of bytes differ: then *differ becomes 1.
using namespace octet::cuda;
using namespace octet::cuda::compare;

constexpr Spec s = Made::spec();

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 first = (s64)blockIdx.x * kThreads + threadIdx.x, step = (s64)gridDim.x * kThreads;
  u32 difference = 0;
  for (s64 i = first; i < pieces(s); i += step) {
    const uint4 a = ((const uint4*)p.a)[i], b = ((const uint4*)p.b)[i];
    difference |= (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w);
  }
  for (s64 i = pieces(s) * kAccess + first; i < s.bytes; i += step) difference |= p.a[i] ^ p.b[i];
  if (difference != 0) *p.differ = 1;
}
