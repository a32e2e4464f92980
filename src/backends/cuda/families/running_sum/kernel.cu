// SPDX-License-Identifier: Apache-2.0
// Sums of a line's numbers up to each of them; a thread takes a line.
#include "backends/cuda/device/element_type.cuh"

using namespace octet::cuda;
using namespace octet::cuda::running_sum;

constexpr Spec s = Made::spec();
RUNNING_SUM_RULES(OCTET_RULE_ASSERT)

// In which elements of type T are added.
template <class T>
struct SumOf {
  typedef Wrapping<T> Type;
};
template <>
struct SumOf<f32> {
  typedef f32 Type;
};
typedef Element<s.element> Number;
typedef SumOf<Number>::Type Sum;

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 line = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (line >= s.lines) return;
  const s64 first = line / s.inner * s.inner * s.count + line % s.inner;
  Sum sum = 0;
  for (s32 i = 0; i < s.count; ++i) {
    const s64 at = first + (s64)(s.reverse ? s.count - 1 - i : i) * s.inner;
    const Sum with = sum + (Sum)((const Number*)p.x)[at];
    ((Number*)p.y)[at] = (Number)(s.exclusive ? sum : with);
    sum = with;
  }
}
