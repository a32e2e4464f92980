// SPDX-License-Identifier: Apache-2.0
// Stands before a kernel's source when that is compiled for the host: the words of CUDA C++ in terms of abi.h. The source itself
// lies in an unnamed namespace together with words.h, so nothing of it is seen from outside but what EMULATED_KERNEL exports.
#pragma once

#include "abi.h"

extern "C" {
float expf(float);
float exp2f(float);
float logf(float);
float log2f(float);
float powf(float, float);
float tanhf(float);
float erff(float);
float sinf(float);
float cosf(float);
float atanf(float);
float floorf(float);
float ceilf(float);
float truncf(float);
float roundf(float);
float rintf(float);
float nearbyintf(float);
float fabsf(float);
float sqrtf(float);
float fmaf(float, float, float);
float fmodf(float, float);
float fminf(float, float);
float fmaxf(float, float);
double exp(double);
double floor(double);
double rint(double);
double sqrt(double);
double fabs(double);
void* memcpy(void*, const void*, unsigned long);
void* memset(void*, int, unsigned long);
// Made by the linker where the sections are not empty.
extern __attribute__((weak, visibility("hidden"))) unsigned char __start_emulated_static[];
extern __attribute__((weak, visibility("hidden"))) unsigned char __stop_emulated_static[];
extern __attribute__((weak, visibility("hidden"))) unsigned char __start_emulated_waits[];
}

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __constant__
#define __shared__ static __attribute__((section("emulated_static")))
#define __builtin_assume(x) ((void)0)
#define threadIdx emulated.thread
#define blockIdx emulated.block
#define blockDim emulated.block_dim
#define gridDim emulated.grid_dim
#define warpSize 32

template <int... I>
struct EmulatedNumbers {};

template <auto F>
struct EmulatedLaunch;

template <class... A, void (*F)(A...)>
struct EmulatedLaunch<F> {
  static constexpr unsigned sizes[] = {sizeof(A)..., 0};
  template <int... I>
  static void call(void** values, EmulatedNumbers<I...>) {
    F(*static_cast<const A*>(values[I])...);
  }
  static void thread(void** values) {
    call(values, EmulatedNumbers<__integer_pack(sizeof...(A))...>());
  }
  static void whole_block(void** values, EmulatedState& state) {
    EmulatedDim& at = state.thread;
    for (at.z = 0; at.z < state.block_dim.z; ++at.z)
      for (at.y = 0; at.y < state.block_dim.y; ++at.y)
        for (at.x = 0; at.x < state.block_dim.x; ++at.x) thread(values);
  }
};

// After the source.
#define EMULATED_EXPORT extern "C" __attribute__((visibility("default")))
#define EMULATED_KERNEL(name, bound)                                            \
  static void emulated_block_##name(void** values) {                            \
    EmulatedLaunch<name>::whole_block(values, emulated);                        \
  }                                                                             \
  EMULATED_EXPORT const EmulatedKernel emulated_kernel_##name = {               \
      (int)(bound), sizeof(EmulatedLaunch<name>::sizes) / sizeof(unsigned) - 1, \
      EmulatedLaunch<name>::sizes, EmulatedLaunch<name>::thread, emulated_block_##name}
#define EMULATED_MODULE()                                               \
  EMULATED_EXPORT EmulatedModule emulated_module() {                    \
    return {&emulated, __start_emulated_static, __stop_emulated_static, \
            __start_emulated_waits != nullptr};                         \
  }
