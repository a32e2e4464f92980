// SPDX-License-Identifier: Apache-2.0
// Several copies at once: p.y[i] = p.x[i], each with a shape and strides of its own. A block makes a part of one of them. Constants:
//   ACCESS   bytes of a unit, which is what a thread copies at once; sizes and strides are in units
//   COPIES   X(first block, units, size of the innermost axis, first unit of x, of y, axes) for each, by block; its axes: A(size, stride in
//            x, in y) of each but the innermost, fastest first, AXES of them
//   EACH     units that a thread has under way
#define THREADS 256

struct Axis {
  s32 size, x, y;
};

struct Copy {
  u32 block;
  s32 count, inner, x, y;
  Axis axes[AXES];
};

#define X(block, count, inner, x, y, axes) {block, count, inner, x, y, {axes}},
#define A(size, x, y) {size, x, y},
__constant__ const Copy copies[] = {COPIES};
#undef X
#undef A

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ CopiesParams p) {
  typedef Access<ACCESS>::Type Unit;
  s32 number = 0;
  for (s32 i = 1; i < (s32)(sizeof(copies) / sizeof(Copy)); ++i) number = blockIdx.x >= copies[i].block ? i : number;
  const Copy& copy = copies[number];
  const Unit* x = (const Unit*)p.x[number];
  Unit* y = (Unit*)p.y[number];
  const s32 first = (s32)(blockIdx.x - copy.block) * (THREADS * EACH) + (s32)threadIdx.x;
  let_successor_begin();
  wait_for_predecessor();
  Unit units[EACH];
  s32 to[EACH];
#pragma unroll
  for (s32 e = 0; e < EACH; ++e) {
    const s32 at = first + e * THREADS;
    if (at >= copy.count) continue;
    u32 rest = (u32)at / (u32)copy.inner;
    const s32 inner = at - (s32)rest * copy.inner;
    s32 from = copy.x + inner;
    to[e] = copy.y + inner;
#pragma unroll
    for (s32 d = 0; d < AXES; ++d) {
      const Axis axis = copy.axes[d];
      u32 index = rest;
      if (d + 1 < AXES) {
        rest /= (u32)axis.size;
        index -= rest * (u32)axis.size;
      }
      from += (s32)index * axis.x;
      to[e] += (s32)index * axis.y;
    }
    units[e] = x[from];
  }
#pragma unroll
  for (s32 e = 0; e < EACH; ++e)
    if (first + e * THREADS < copy.count) y[to[e]] = units[e];
}
