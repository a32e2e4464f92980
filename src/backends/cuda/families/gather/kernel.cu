// SPDX-License-Identifier: Apache-2.0
// Slices of x picked by indices that a run brings: Gather, GatherElements, GatherND. An index below 0 counts from the end of its axis.
#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::gather;

constexpr Spec s = Made::spec();
GATHER_RULES(OCTET_RULE_ASSERT)

__device__ __noinline__ void report(u64* outside, s64 number, s64 index) {
  atomicMin(outside, (u64)number << 32 | (u64)index >> 32);
  atomicMin(outside + 1, (u64)number << 32 | (u32)index);
}

// A piece of y.
struct Place {
  s64 at, in_slice;
  s64 slice, outer;  // of y; outer: of the axes before those that are picked along
};

// Of the first index of the slice.
__device__ __forceinline__ s64 number_of(const Place& place) {
  if constexpr (s.form == Form::slices) return place.slice % s.ids;
  if constexpr (s.form == Form::elements) return place.at;
  return place.slice * s.axes.count;
}
// Of the threads that read one index, one tells of it.
__device__ __forceinline__ bool reports(const Place& place) {
  if constexpr (s.form == Form::slices) return place.in_slice == 0 && place.outer == 0;
  if constexpr (s.form == Form::elements) return true;
  return place.in_slice == 0;
}

// Moves `from` by the slices of x that indices `number` + k, ... say.
template <s32 k = 0>
__device__ __forceinline__ void pick(s64& from, const Params& p, const Place& place, const s64& number) {
  if constexpr (k < s.axes.count) {
    constexpr Axis axis = s.axes.at[k];
    const s64 index = (s64)((const Element<s.id>*)p.ids)[number + k];
    const bool inside = index >= -axis.size && index < axis.size;
    if (!inside && reports(place)) report(p.outside, number + k, index);
    from += (!inside ? 0 : index < 0 ? index + axis.size : index) * axis.stride;
    pick<k + 1>(from, p, place, number);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  typedef Whole<s.access>::Type Piece;
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * kThreads;
  for (s64 at = (s64)blockIdx.x * kThreads + threadIdx.x; at < s.count; at += step) {
    const Place place = {at, at % s.inner, at / s.inner, at / s.inner / s.ids};
    const s64 number = number_of(place);
    s64 from = place.outer * s.slices;
    pick(from, p, place, number);
    ((Piece*)p.y)[at] = ((const Piece*)p.x)[from * s.inner + place.in_slice];
  }
}
