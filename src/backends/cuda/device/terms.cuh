// SPDX-License-Identifier: Apache-2.0
// Reals of 24 bits as three terms of bf16: each the upper half of what is left, truncated, so that their sum is the number (down to 2^-110).
#pragma once

namespace octet::cuda {

// The upper 16 bits of two reals, the first below: both as bf16, truncated.
__device__ __forceinline__ u32 upper_halves(f32 low, f32 high) { return __byte_perm(bits_of(low), bits_of(high), 0x7632u); }
__device__ __forceinline__ f32 without_upper_half(f32 a) { return f32_add(a, -f32_bits(bits_of(a) & 0xFFFF0000u)); }
// Infinities and NaN, whose terms are none.
__device__ __forceinline__ bool has_no_terms(f32 a) { return (bits_of(a) & 0x7F800000u) == 0x7F800000u; }

}  // namespace octet::cuda
