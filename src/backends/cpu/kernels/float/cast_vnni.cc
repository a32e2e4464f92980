// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "backends/cpu/kernels/float/cast.h"
#include "backends/cpu/kernels/float/vec_vnni.h"

namespace octet {

void narrow_to_bf16_vnni(const CastArgs* args) {
  const float* src = static_cast<const float*>(args->src);
  unsigned short* dst = static_cast<unsigned short*>(args->dst);
  long i = 0;
  // The upper halves of two registers are one.
  alignas(64) unsigned short upper[32];
  for (int w = 0; w < 32; ++w) upper[w] = static_cast<unsigned short>(2 * w + 1);
  const __m512i halves = _mm512_load_si512(upper);
  for (; i + 32 <= args->count; i += 32) {
    const __m512i low = _mm512_loadu_si512(src + i), high = _mm512_loadu_si512(src + i + 16);
    _mm512_storeu_si512(dst + i, _mm512_permutex2var_epi16(low, halves, high));
  }
  for (; i < args->count; i += 16) {
    const long rest = args->count - i;
    const __mmask16 lanes =
        rest >= 16 ? static_cast<__mmask16>(0xffff) : static_cast<__mmask16>((1u << rest) - 1u);
    const __m512i bits = _mm512_maskz_loadu_epi32(lanes, src + i);
    _mm512_mask_cvtepi32_storeu_epi16(dst + i, lanes, _mm512_maskz_srli_epi32(0xffff, bits, 16));
  }
}

void widen_bf16_vnni(const CastArgs* args) {
  const Bf16* src = static_cast<const Bf16*>(args->src);
  float* dst = static_cast<float*>(args->dst);
  long i = 0;
  for (; i + kLanes <= args->count; i += kLanes) v_store(dst + i, v_load(src + i));
  const int rest = static_cast<int>(args->count - i);
  if (rest > 0) v_store_n(dst + i, v_load_n(src + i, rest), rest);
}

void pad_three_vnni(const CastArgs* args) {
  constexpr long kPixels = 8, kGiven = 3, kPadded = 4;
  const Bf16* src = static_cast<const Bf16*>(args->src);
  Bf16* dst = static_cast<Bf16*>(args->dst);
  alignas(64) unsigned short words[kPixels * kPadded];
  for (int w = 0; w < kPixels * kPadded; ++w)
    words[w] = static_cast<unsigned short>(w / kPadded * kGiven + w % kPadded);
  const __m512i from = _mm512_load_si512(words);
  constexpr __mmask32 kNumbers = 0x77777777;
  for (long p = 0; p < args->count;
       p += kPixels, src += kPixels * kGiven, dst += kPixels * kPadded) {
    const long n = args->count - p < kPixels ? args->count - p : kPixels;
    const __m512i given = _mm512_maskz_loadu_epi16((1u << (n * kGiven)) - 1u, src);
    const __m512i padded = _mm512_maskz_permutexvar_epi16(kNumbers, from, given);
    if (n == kPixels) {
      _mm512_storeu_si512(dst, padded);
    } else {
      _mm512_mask_storeu_epi16(dst, (1u << (n * kPadded)) - 1u, padded);
    }
  }
}

}  // namespace octet
