// SPDX-License-Identifier: Apache-2.0
// Sums of a line's numbers up to each of them; a thread takes a line. Constants:
//   ELEMENT, SUM       types of the elements, and in which they are added
//   LINES, COUNT, INNER  COUNT elements of a line lie INNER apart; line l begins at l / INNER * COUNT * INNER + l % INNER
//   REVERSE, EXCLUSIVE from the end; without the element itself
#define THREADS 64

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ MapParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 line = (s64)blockIdx.x * THREADS + threadIdx.x;
  if (line >= LINES) return;
  const s64 first = line / INNER * INNER * COUNT + line % INNER;
  SUM sum = 0;
  for (s32 i = 0; i < COUNT; ++i) {
    const s64 at = first + (s64)(REVERSE ? COUNT - 1 - i : i) * INNER;
    const SUM with = sum + (SUM)((const ELEMENT*)p.a)[at];
    ((ELEMENT*)p.out)[at] = (ELEMENT)(EXCLUSIVE ? sum : with);
    sum = with;
  }
}
