// SPDX-License-Identifier: Apache-2.0
// CUDA's language for a compiler of the host, so that kernels of other people's programs run without a GPU: one thread behind another, done when the
// launch returns. Their text stays; only kernel<<<grid, block, ...>>>(arguments) must be written on_host(kernel, grid, block, ...)(arguments). No
// kernel may wait for another thread or share memory with it.
#pragma once

#include <cuda_runtime_api.h>
#include <math.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <iostream>

#define __global__
#define __device__

struct OnHost {
  int x = 0;
};
inline thread_local OnHost threadIdx, blockIdx, blockDim, gridDim;

using std::max;
using std::min;

inline float atomicAdd(float* sum, float addend) {
  const float before = *sum;
  *sum += addend;
  return before;
}

template <class... Parameters>
auto on_host(void (*kernel)(Parameters...), int grid, int block, int = 0, cudaStream_t = nullptr) {
  return [=](Parameters... arguments) {
    gridDim.x = grid;
    blockDim.x = block;
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)
      for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) kernel(arguments...);
  };
}
