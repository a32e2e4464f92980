// SPDX-License-Identifier: Apache-2.0
// Pools of 64 channels at a time.
#include "backends/cpu/kernels/codes/simd_vnni.h"

#define OCTET_ISA(name) name##_vnni
#include "backends/cpu/kernels/codes/pool/average_body.h"

namespace octet {
namespace {

// Some channels of a pixel, in whole registers or parts of them.
struct Wide {
  __mmask64 mask;
  __m512i load(const u8* src) const { return _mm512_maskz_loadu_epi8(mask, src); }
  static __m512i zero() { return _mm512_setzero_si512(); }
  static __m512i max(__m512i a, __m512i b) { return _mm512_max_epu8(a, b); }
  void store(u8* dst, __m512i x) const { _mm512_mask_storeu_epi8(dst, mask, x); }
};

struct Sixteen {
  __m128i load(const u8* src) const {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
  }
  static __m128i zero() { return _mm_setzero_si128(); }
  static __m128i max(__m128i a, __m128i b) { return _mm_max_epu8(a, b); }
  void store(u8* dst, __m128i x) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), x); }
};

// kSize: the window's rows and columns; 0: any.
template <int kSize, class Part>
inline void max_part(const PooledPixel& window, const Part& part, s64 first) {
  const s64 rows = kSize > 0 ? kSize : window.rows, columns = kSize > 0 ? kSize : window.columns;
  const s64 row_stride = window.row_stride, column_stride = window.column_stride;
  const s64 src_step = window.src_step, dst_step = window.dst_step;
  const u8* src = window.src + first;
  u8* dst = window.dst + first;
  for (s64 left = window.pixels; left > 0; --left, src += src_step, dst += dst_step) {
    auto best = Part::zero();
    for (s64 y = 0; y < rows; ++y) {
      for (s64 x = 0; x < columns; ++x)
        best = Part::max(best, part.load(src + y * row_stride + x * column_stride));
    }
    part.store(dst, best);
  }
}

template <class Part>
void max_window(const PooledPixel& window, const Part& part, s64 first) {
  if (window.rows == 2 && window.columns == 2) return max_part<2>(window, part, first);
  if (window.rows == 3 && window.columns == 3) return max_part<3>(window, part, first);
  max_part<0>(window, part, first);
}

}  // namespace

void max_pool_u8_vnni(const PooledPixel& window) {
  if (window.channels == 16) return max_window(window, Sixteen{}, 0);
  for (s64 c = 0; c < window.channels; c += 64)
    max_window(window, Wide{first_lanes64(window.channels - c)}, c);
}

}  // namespace octet
