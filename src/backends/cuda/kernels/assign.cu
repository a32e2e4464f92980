// SPDX-License-Identifier: Apache-2.0
// x with some of its slices replaced, by a table that says for each slice of x which of the updates takes its place, or -1. Constants:
//   ELEMENT       what a thread copies at once; INNER of them make a slice, COUNT are in y
#define THREADS 256

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ AssignParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * THREADS;
  for (s64 at = (s64)blockIdx.x * THREADS + threadIdx.x; at < COUNT; at += step) {
    const s32 update = p.table[at / INNER];
    ((ELEMENT*)p.y)[at] = update < 0 ? ((const ELEMENT*)p.x)[at] : ((const ELEMENT*)p.updates)[(s64)update * INNER + at % INNER];
  }
}
