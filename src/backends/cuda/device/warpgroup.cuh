// SPDX-License-Identifier: Apache-2.0
// Products of 64 rows by a warpgroup: a Hopper's wgmma (hopper.cuh), or the same words by mma.sync, where each warp multiplies its own 16 rows at once and reads
// the operands from where wgmma would, by their swizzle.
#pragma once

#ifndef OCTET_WITHOUT_WGMMA
#include "backends/cuda/device/hopper.cuh"
#else
namespace octet::cuda {

#ifdef OCTET_EMULATED
static inline u32 shared_address(const void* p) { return (u32)((const u8*)p - emulated.shared); }
template <int kThreads> static inline void threads_meet(u32 number) {
  emulated.services->named(number, kThreads, true);
  asm volatile("" ::: "memory");
}
static inline void ldmatrix4_at(u32 (&d)[4], u32 address) { emulated_ldmatrix4(d, emulated.shared + address); }
#else
template <int kThreads> __device__ __forceinline__ void threads_meet(u32 number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}
__device__ __forceinline__ void ldmatrix4_at(u32 (&d)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(address) : "memory");
}
#endif

// Nothing is left to wait for, and products read what threads wrote.
__device__ __forceinline__ void products_begin() {}
__device__ __forceinline__ void products_end() {}
template <int kLeft> __device__ __forceinline__ void products_wait() {}
template <s32 kSums> __device__ __forceinline__ void hold(s32 (&)[kSums]) {}
__device__ __forceinline__ void publish_shared() {}

// In units of 16 bytes, so that what kernels add to an operand means the same; above them the bytes of a row.
template <s32 kRowBytes> __device__ __forceinline__ u64 operand(u32 address) {
  static_assert(kRowBytes == 32 || kRowBytes == 64 || kRowBytes == 128, "there is no other swizzle");
  return (u64)(address >> 4) | (u64)kRowBytes << 32;
}
// Of 16 bytes of a row: chunks change places within eight rows.
__device__ __forceinline__ u32 address_of_chunk(u64 operand, u32 row, u32 chunk) {
  const u32 row_bytes = (u32)(operand >> 32), rows = row_bytes == 128 ? 7 : row_bytes == 64 ? 3 : 1;
  const u32 at = (u32)operand * 16 + row * row_bytes + chunk * 16;
  return at ^ (at >> 7 & rows) << 4;
}

template <bool kSigned> __device__ __forceinline__ void multiply_codes(s32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (kSigned) mma_s8s8(d, a, b);
  else mma_u8s8(d, a, b);
}

// d (+)= the warp's 16 rows of a, in registers, by 2 * kSums columns of b, 32 bytes of k; `sum` 0: d is not read.
template <bool kSigned, s32 kSums> __device__ __forceinline__ void product(s32 (&d)[kSums], const u32 (&a)[4], u64 b, s32 sum) {
  const u32 lane = threadIdx.x % 32;
#pragma unroll
  for (s32 i = 0; i < kSums; i += 8) {
    u32 columns[4];  // two of 8 columns by 32 of k
    ldmatrix4_at(columns, address_of_chunk(b, 2 * i + lane / 16 * 8 + lane % 8, lane / 8 % 2));
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      s32* const own = d + i + 4 * half;
      s32 sums[4];
#pragma unroll
      for (s32 e = 0; e < 4; ++e) sums[e] = sum == 0 ? 0 : own[e];
      const u32 of_columns[2] = {columns[2 * half], columns[2 * half + 1]};
      multiply_codes<kSigned>(sums, a, of_columns);
#pragma unroll
      for (s32 e = 0; e < 4; ++e) own[e] = sums[e];
    }
  }
}
// The same of rows in shared memory: 64, of which each warp takes 16.
template <bool kSigned, s32 kSums> __device__ __forceinline__ void product(s32 (&d)[kSums], u64 a, u64 b, s32 sum) {
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  u32 rows[4];
  ldmatrix4_at(rows, address_of_chunk(a, warp * 16 + lane % 16, lane / 16));
  product<kSigned>(d, rows, b, sum);
}

}  // namespace octet::cuda
#endif
