// SPDX-License-Identifier: Apache-2.0
// Slices of x picked by indices that a run brings: Gather, GatherElements, GatherND. Constants:
//   ELEMENT        what a thread copies at once; INNER of them make a slice, COUNT are in y
//   IDS, SLICES    slices of y, and of x, for each index of the axes before those that are picked along
//   ID, TUPLE      type of an index; X(k, dim, stride) for each index of a slice: below 0 it counts from the end of the axis of `dim`, whose
//                  neighbours are `stride` slices apart
//   NUMBER         of the first of them, by `at` and `slice` of y; REPORTS: which thread of those that read one tells of it
// p.outside: what Report keeps of the first index that lies outside of its axis.
#define THREADS 256

__device__ __noinline__ void report(u64* outside, s64 number, s64 index) {
  atomicMin(outside, (u64)number << 32 | (u64)index >> 32);
  atomicMin(outside + 1, (u64)number << 32 | (u32)index);
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ GatherParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * THREADS;
  for (s64 at = (s64)blockIdx.x * THREADS + threadIdx.x; at < COUNT; at += step) {
    const s64 e = at % INNER, slice = at / INNER, outer = slice / IDS;
    const s64 number = NUMBER;
    s64 from = outer * SLICES;
#define X(k, dim, stride)                                                         \
  {                                                                               \
    const s64 index = (s64)((const ID*)p.ids)[number + k];                        \
    const bool inside = index >= -(s64)dim && index < (s64)dim;                   \
    if (!inside && (REPORTS)) report(p.outside, number + k, index);               \
    from += (!inside ? 0 : index < 0 ? index + (s64)dim : index) * (s64)(stride); \
  }
    TUPLE
#undef X
    ((ELEMENT*)p.y)[at] = ((const ELEMENT*)p.x)[from * INNER + e];
  }
}
