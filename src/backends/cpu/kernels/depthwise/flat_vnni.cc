// SPDX-License-Identifier: Apache-2.0
// 3x3 depthwise convolution down a column of 64 bytes. Each input row is interleaved once (three taps and a zero to four
// bytes) and multiplied into the three output rows that it touches, whose sums stay in registers.
#include "backends/cpu/kernels/depthwise/flat_args.h"
#include "backends/cpu/kernels/simd_vnni.h"

namespace octet {
namespace {

struct Row {
  __m512i r[4];
};

inline __m512i load(const FlatColumn& column, const u8* src) {
  const FlatConstants& k = *column.constants;
  if (k.piece_count == 1) return _mm512_maskz_loadu_epi8(column.mask, src);
  __m512i x = _mm512_setzero_si512();
  for (s64 i = 0; i < k.piece_count; ++i) {
    x = _mm512_mask_loadu_epi8(x, k.pieces[i].mask & column.mask, src + k.pieces[i].offset);
  }
  return x;
}

inline Row interleaved(const FlatColumn& column, const u8* src) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i x0 = load(column, src);
  const __m512i x1 = load(column, src + column.tap);
  const __m512i x2 = load(column, src + 2 * column.tap);
  const __m512i a = _mm512_unpacklo_epi8(x0, x1), b = _mm512_unpackhi_epi8(x0, x1);
  const __m512i c = _mm512_unpacklo_epi8(x2, zero), d = _mm512_unpackhi_epi8(x2, zero);
  return {{_mm512_unpacklo_epi16(a, c), _mm512_unpackhi_epi16(a, c), _mm512_unpacklo_epi16(b, d),
           _mm512_unpackhi_epi16(b, d)}};
}

inline void add(Row& sums, const Row& x, const __m512i weights[4]) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) dot4(sums.r[j], x.r[j], weights[j]);
}

struct Constants {
  __m512i weights[3][4];
  CodeLimits limits;
};

inline Row biases(const FlatConstants& k) {
  Row row;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) row.r[j] = _mm512_loadu_si512(k.bias[j]);
  return row;
}

template <bool kPlain>
inline void finish(const FlatColumn& column, const CodeLimits& limits, s64 row, const Row& sums) {
  const EpilogueArgs& e = *column.epilogue;
  __m512 t[4];
  __m512i n[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    t[j] = _mm512_mul_ps(_mm512_cvtepi32_ps(sums.r[j]),
                         _mm512_loadu_ps(column.constants->multiplier[j]));
  }
  u8* dst = column.dst + row * column.dst_row;
  if constexpr (kPlain) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) n[j] = _mm512_cvtps_epi32(t[j]);
    _mm512_mask_storeu_epi8(dst, column.mask, pack_codes(n, limits));
    return;
  }
  if (column.residual != nullptr) {
    const u8* residual = column.residual + row * column.residual_row;
    __m512i r[4];
    widen_in_lanes(_mm512_maskz_loadu_epi8(column.mask, residual), r);
    for (int j = 0; j < 4; ++j) t[j] = add_residual(e, t[j], r[j]);
  }
  if (e.leaky) {
    for (int j = 0; j < 4; ++j) t[j] = leaky(t[j], e.alpha);
  }
  __m512i codes = codes_of(e, t);
  if (e.table != nullptr) codes = look_up(codes, e.table);
  _mm512_mask_storeu_epi8(dst, column.mask, codes);
}

// Output row y reads input rows y, y + 1, y + 2: three rows of sums are under way.
template <bool kPlain>
void every_row(const FlatColumn& column, const Constants& k) {
  const u8* src = column.src;
  Row top = biases(*column.constants);
  Row x = interleaved(column, src);
  add(top, x, k.weights[0]);
  src += column.src_row;
  x = interleaved(column, src);
  add(top, x, k.weights[1]);
  Row middle = biases(*column.constants);
  add(middle, x, k.weights[0]);
  for (s64 row = 0; row < column.rows; ++row) {
    src += column.src_row;
    x = interleaved(column, src);
    add(top, x, k.weights[2]);
    finish<kPlain>(column, k.limits, row, top);
    add(middle, x, k.weights[1]);
    top = middle;
    middle = biases(*column.constants);
    add(middle, x, k.weights[0]);
  }
}

// Output row y reads input rows 2y, 2y + 1, 2y + 2: the last is the first of the next.
template <bool kPlain>
void every_second_row(const FlatColumn& column, const Constants& k) {
  const u8* src = column.src;
  Row x = interleaved(column, src);
  for (s64 row = 0; row < column.rows; ++row) {
    Row sums = biases(*column.constants);
    add(sums, x, k.weights[0]);
    add(sums, interleaved(column, src + column.src_row), k.weights[1]);
    src += 2 * column.src_row;
    x = interleaved(column, src);
    add(sums, x, k.weights[2]);
    finish<kPlain>(column, k.limits, row, sums);
  }
}

template <bool kPlain>
void run(const FlatColumn& column) {
  Constants k;
  k.limits = code_limits(*column.epilogue);
  for (int y = 0; y < 3; ++y) {
    for (int j = 0; j < 4; ++j)
      k.weights[y][j] = _mm512_loadu_si512(column.constants->weights[y][j]);
  }
  column.stride_y == 1 ? every_row<kPlain>(column, k) : every_second_row<kPlain>(column, k);
}

}  // namespace

void depthwise_u8s8_3x3_vnni(const FlatColumn& column) {
  const EpilogueArgs& e = *column.epilogue;
  const bool plain = column.bounded && column.residual == nullptr && !e.leaky && e.table == nullptr;
  plain ? run<true>(column) : run<false>(column);
}

}  // namespace octet
