// SPDX-License-Identifier: Apache-2.0
// Dot products of the scalar references, in the shapes that the compiler vectorizes at the baseline.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/reduce.h"
#include "core/types.h"

namespace octet {

// Four lanes as the compiler's vector type: it keeps them in registers, which it does not do for an array.
using F32x4 = f32 __attribute__((vector_size(16)));

inline F32x4 load4(const f32* p) {
  F32x4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// 16 interleaved lanes, then pairwise, as all float reductions.
inline f32 dot(const f32* a, const f32* b, s64 count) {
  F32x4 lanes[4] = {};
  s64 i = 0;
  for (; i + kReduceLanes <= count; i += kReduceLanes) {
    for (int v = 0; v < 4; ++v) lanes[v] += load4(a + i + 4 * v) * load4(b + i + 4 * v);
  }
  int v = 0;
  for (; i + 4 <= count; i += 4, ++v) lanes[v] += load4(a + i) * load4(b + i);
  const auto term = [&](s64 j) { return i + j < count ? a[i + j] * b[i + j] : 0.0f; };
  if (i < count) lanes[v] += F32x4{term(0), term(1), term(2), 0.0f};
  const F32x4 four = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

// Exact for differences of codes, within [-255, 255]: 32 bits hold the sum of kBlock of their products, which the compiler adds side by
// side. Modulo 2^32 for whatever else a file calls codes.
inline s64 dot(const s16* a, const s16* b, s64 count) {
  constexpr s64 kBlock = 32768;
  s64 sum = 0;
  for (s64 first = 0; first < count; first += kBlock) {
    const s64 end = std::min(first + kBlock, count);
    u32 block = 0;
    for (s64 i = first; i < end; ++i) block += static_cast<u32>(s32{a[i]} * s32{b[i]});
    sum += static_cast<s32>(block);
  }
  return sum;
}

// As vector units add: modulo 2^32.
inline s32 wrapped(s64 sum) { return static_cast<s32>(static_cast<u32>(sum)); }

}  // namespace octet
