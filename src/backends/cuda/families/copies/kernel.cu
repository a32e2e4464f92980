// SPDX-License-Identifier: Apache-2.0
// Several copies at once: p.y[i] = p.x[i], each with a shape and strides of its own. A block makes a part of one of them.
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::copies;

constexpr Spec s = Made::spec();
constexpr s32 kAxes = most_axes(s), kEach = s.each;

// All copies have as many axes here: some of size 1.
struct Entry {
  u32 block;  // the first
  s32 count, inner, x, y;
  Axis axes[kAxes];
};
struct Table {
  Entry at[s.copies.count];
};

constexpr Table table_of() {
  Table table{};
  for (s32 i = 0; i < s.copies.count; ++i) {
    const Copy& copy = s.copies.at[i];
    Entry& entry = table.at[i];
    entry.block = (u32)blocks_before(s, i);
    entry.count = copy.count, entry.inner = copy.inner, entry.x = copy.x, entry.y = copy.y;
    for (s32 d = 0; d < kAxes; ++d) entry.axes[d] = d < copy.axes.count ? copy.axes.at[d] : Axis{1, 0, 0};
  }
  return table;
}

__constant__ const Table table = table_of();

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  typedef Access<s.access>::Type Unit;
  s32 number = 0;
  for (s32 i = 1; i < s.copies.count; ++i) number = blockIdx.x >= table.at[i].block ? i : number;
  const Entry& copy = table.at[number];
  const Unit* x = (const Unit*)p.x[number];
  Unit* y = (Unit*)p.y[number];
  const s32 first = (s32)(blockIdx.x - copy.block) * (kThreads * kEach) + (s32)threadIdx.x;
  let_successor_begin();
  wait_for_predecessor();
  Unit units[kEach];
  s32 to[kEach];
#pragma unroll
  for (s32 e = 0; e < kEach; ++e) {
    const s32 at = first + e * kThreads;
    if (at >= copy.count) continue;
    u32 rest = (u32)at / (u32)copy.inner;
    const s32 inner = at - (s32)rest * copy.inner;
    s32 from = copy.x + inner;
    to[e] = copy.y + inner;
#pragma unroll
    for (s32 d = 0; d < kAxes; ++d) {
      const Axis axis = copy.axes[d];
      u32 index = rest;
      if (d + 1 < kAxes) {
        rest /= (u32)axis.size;
        index -= rest * (u32)axis.size;
      }
      from += (s32)index * axis.x;
      to[e] += (s32)index * axis.y;
    }
    units[e] = x[from];
  }
#pragma unroll
  for (s32 e = 0; e < kEach; ++e)
    if (first + e * kThreads < copy.count) y[to[e]] = units[e];
}
