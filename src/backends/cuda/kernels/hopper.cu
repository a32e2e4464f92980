// SPDX-License-Identifier: Apache-2.0
// device/hopper.cuh for kernels whose constants are macros: BN (columns of one product: 16, 32, 64), BKI (bytes of a row of shared memory), X_S8.
#include "backends/cuda/device/hopper.cuh"
using namespace octet::cuda;

__device__ __forceinline__ u64 operand(u32 address) { return octet::cuda::operand<BKI>(address); }
__device__ __forceinline__ void product(s32 (&d)[BN / 2], const u32 (&a)[4], u64 b, s32 sum) { octet::cuda::product<X_S8>(d, a, b, sum); }
#define PRODUCT64(name, is_signed)                                                                    \
  __device__ __forceinline__ void name(s32 (&d)[32], u64 a, u64 b, s32 sum) {                         \
    octet::cuda::product<is_signed>(d, a, b, sum);                                                    \
  }                                                                                                   \
  __device__ __forceinline__ void name(s32 (&d)[32], u32 a0, u32 a1, u32 a2, u32 a3, u64 b, s32 sum) { \
    const u32 a[4] = {a0, a1, a2, a3};                                                                \
    octet::cuda::product<is_signed>(d, a, b, sum);                                                    \
  }
PRODUCT64(product64_u8, false)
PRODUCT64(product64_s8, true)
