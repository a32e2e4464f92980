// SPDX-License-Identifier: Apache-2.0
// Division of integers, of which every case has a result: by 0 it is 0, and by -1 a sum wraps.
#pragma once

template <class T>
__device__ __forceinline__ T whole_quotient(T a, T b) {
  if (b == 0) return 0;
  if ((T)-1 < 0 && b == (T)-1) return (T)(0 - (u64)a);
  return (T)(a / b);
}

template <class T>
__device__ __forceinline__ T rest_of_division(T a, T b) {
  if (b == 0 || ((T)-1 < 0 && b == (T)-1)) return 0;
  return (T)(a % b);
}

// Of the divisor's sign.
template <class T>
__device__ __forceinline__ T floored_rest(T a, T b) {
  const T rest = rest_of_division(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? (T)(rest + b) : rest;
}
