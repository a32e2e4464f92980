// SPDX-License-Identifier: Apache-2.0
// 3x3 depthwise convolution down a column of 64 bytes. Each input row is interleaved once (three taps and a zero to four
// bytes) and multiplied into the three output rows that it touches, whose sums stay in registers. 64 results of whole
// registers and plain codes take 35 instructions on the two vector ports; what is asked before the loop is not asked in it.
#include "backends/cpu/kernels/codes/depthwise/flat_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

// How the 64 bytes of a tap are read.
//   whole   they are adjacent
//   two     as two pieces: a merging load
//   pairs   as quads of bytes of two adjacent registers
//   pieces  anything else, and what must not be read whole
enum class Source { whole, two, pairs, pieces };

// How sums become codes: see Finish of conv/tile_finish_amx.h. The table of `table` takes any code.
enum class Codes { saturate, bound, table, fine, general };

struct Row {
  __m512i r[4];
};

// Read once: behind a pointer, each store of codes could change it.
struct Column {
  const FlatColumn& column;
  const FlatConstants& constants;
  s64 src_row, dst_row, tap, ahead;
  __mmask64 mask;
  __mmask64 second;  // bytes of the second piece
  s64 second_offset;
  __m512i quads;
  CodeLimits limits;
  const u8* table;
  __m512i weights[3][4];

  explicit Column(const FlatColumn& c)
      : column(c),
        constants(*c.constants),
        src_row(c.src_row),
        dst_row(c.dst_row),
        tap(c.tap),
        ahead(c.ahead),
        mask(c.mask),
        second(constants.pieces[1].mask),
        second_offset(constants.pieces[1].offset),
        quads(_mm512_loadu_si512(constants.quads)),
        limits(code_limits(*c.epilogue)),
        table(c.epilogue->table) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i)
      weights[i / 4][i % 4] = _mm512_loadu_si512(constants.weights[i / 4][i % 4]);
  }
};

inline __m512i load_pieces(const Column& k, const u8* src) {
  if (k.constants.piece_count == 1) return _mm512_maskz_loadu_epi8(k.mask, src);
  __m512i x = _mm512_setzero_si512();
  for (s64 i = 0; i < k.constants.piece_count; ++i) {
    const FlatPiece& piece = k.constants.pieces[i];
    x = _mm512_mask_loadu_epi8(x, piece.mask & k.mask, src + piece.offset);
  }
  return x;
}

template <Source kSource>
inline __m512i load(const Column& k, const u8* src) {
  if constexpr (kSource == Source::pieces) return load_pieces(k, src);
  const __m512i x = _mm512_loadu_si512(src);
  if constexpr (kSource == Source::two)
    return _mm512_mask_loadu_epi8(x, k.second, src + k.second_offset);
  if constexpr (kSource == Source::pairs)
    return _mm512_permutex2var_epi32(x, k.quads, _mm512_loadu_si512(src + 64));
  return x;
}

template <Source kSource>
[[gnu::always_inline]] inline Row interleaved(const Column& k, const u8* src) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i x0 = load<kSource>(k, src);
  const __m512i x1 = load<kSource>(k, src + k.tap);
  const __m512i x2 = load<kSource>(k, src + 2 * k.tap);
  const __m512i a = _mm512_unpacklo_epi8(x0, x1), b = _mm512_unpackhi_epi8(x0, x1);
  const __m512i c = _mm512_unpacklo_epi8(x2, zero), d = _mm512_unpackhi_epi8(x2, zero);
  return {{_mm512_unpacklo_epi16(a, c), _mm512_unpackhi_epi16(a, c), _mm512_unpacklo_epi16(b, d),
           _mm512_unpackhi_epi16(b, d)}};
}

// What the next column reads of this row beyond what this one does.
template <Source kSource>
inline void ask_ahead(const Column& k, const u8* src) {
  const u8* behind = src + 2 * k.tap + k.ahead + kFlatBytes;
  _mm_prefetch(behind - 1, _MM_HINT_T0);
  if constexpr (kSource != Source::whole) _mm_prefetch(behind + kFlatBytes - 1, _MM_HINT_T0);
}

// Row y of the taps.
template <bool kWide>
[[gnu::always_inline]] inline void add(const Column& k, Row& sums, const Row& x, int y) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    dot4(sums.r[j], x.r[j], k.weights[y][j]);
    if constexpr (kWide) dot4(sums.r[j], x.r[j], _mm512_loadu_si512(k.constants.rest[y][j]));
  }
}

inline Row biases(const Column& k) {
  Row row;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) row.r[j] = _mm512_loadu_si512(k.constants.bias[j]);
  return row;
}

inline __m512i general_codes(const Column& k, s64 row, __m512 t[4]) {
  const EpilogueArgs& e = *k.column.epilogue;
  if (k.column.residual != nullptr) {
    const u8* residual = k.column.residual + row * k.column.residual_row;
    __m512i r[4];
    widen_in_lanes(_mm512_maskz_loadu_epi8(k.mask, residual), r);
    for (int j = 0; j < 4; ++j) t[j] = add_residual(e, t[j], r[j]);
  }
  if (e.leaky) {
    for (int j = 0; j < 4; ++j) t[j] = leaky(t[j], e.alpha);
  }
  return final_codes(e, t);
}

template <Codes kCodes>
[[gnu::always_inline]] inline __m512i codes_of(const Column& k, s64 row, const Row& sums) {
  __m512 t[4];
  __m512i n[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j)
    t[j] = _mm512_mul_ps(_mm512_cvtepi32_ps(sums.r[j]), _mm512_loadu_ps(k.constants.multiplier[j]));
  if constexpr (kCodes == Codes::general) return general_codes(k, row, t);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) n[j] = _mm512_cvtps_epi32(t[j]);
  if constexpr (kCodes == Codes::bound) return pack_codes(n, k.limits);
  if constexpr (kCodes == Codes::fine) return fine_codes(n, k.limits, k.table);
  __m512i a = _mm512_packs_epi32(n[0], n[1]), b = _mm512_packs_epi32(n[2], n[3]);
  if constexpr (kCodes == Codes::saturate) return _mm512_packus_epi16(a, b);
  a = _mm512_adds_epi16(a, k.limits.zero_point);
  b = _mm512_adds_epi16(b, k.limits.zero_point);
  return look_up(_mm512_packus_epi16(a, b), k.table);
}

template <Source kSource, Codes kCodes>
[[gnu::always_inline]] inline void finish(const Column& k, s64 row, const Row& sums) {
  const __m512i codes = codes_of<kCodes>(k, row, sums);
  u8* dst = k.column.dst + row * k.dst_row;
  if constexpr (kSource == Source::pieces) {
    _mm512_mask_storeu_epi8(dst, k.mask, codes);
  } else {
    _mm512_storeu_si512(dst, codes);
  }
}

// Output row y reads input rows y, y + 1, y + 2: three rows of sums are under way.
template <Source kSource, Codes kCodes, bool kWide>
[[gnu::noinline]] void every_row(const FlatColumn& column) {
  const Column k(column);
  const u8* src = k.column.src;
  const s64 rows = k.column.rows;
  Row top = biases(k);
  Row x = interleaved<kSource>(k, src);
  add<kWide>(k, top, x, 0);
  src += k.src_row;
  x = interleaved<kSource>(k, src);
  add<kWide>(k, top, x, 1);
  Row middle = biases(k);
  add<kWide>(k, middle, x, 0);
  for (s64 row = 0; row < rows; ++row) {
    src += k.src_row;
    ask_ahead<kSource>(k, src);
    x = interleaved<kSource>(k, src);
    add<kWide>(k, top, x, 2);
    finish<kSource, kCodes>(k, row, top);
    add<kWide>(k, middle, x, 1);
    top = middle;
    middle = biases(k);
    add<kWide>(k, middle, x, 0);
  }
}

// Output row y reads input rows 2y, 2y + 1, 2y + 2: the last is the first of the next.
template <Source kSource, Codes kCodes, bool kWide>
[[gnu::noinline]] void every_second_row(const FlatColumn& column) {
  const Column k(column);
  const u8* src = k.column.src;
  const s64 rows = k.column.rows;
  Row x = interleaved<kSource>(k, src);
  for (s64 row = 0; row < rows; ++row) {
    Row sums = biases(k);
    ask_ahead<kSource>(k, src);
    ask_ahead<kSource>(k, src + k.src_row);
    add<kWide>(k, sums, x, 0);
    add<kWide>(k, sums, interleaved<kSource>(k, src + k.src_row), 1);
    src += 2 * k.src_row;
    x = interleaved<kSource>(k, src);
    add<kWide>(k, sums, x, 2);
    finish<kSource, kCodes>(k, row, sums);
  }
}

template <Source kSource, Codes kCodes, bool kWide = false>
void run(const FlatColumn& column) {
  column.stride_y == 1 ? every_row<kSource, kCodes, kWide>(column)
                       : every_second_row<kSource, kCodes, kWide>(column);
}

template <Source kSource>
void run(const FlatColumn& column, Codes codes) {
  if (column.wide) {
    if (codes == Codes::saturate || codes == Codes::bound)
      return run<kSource, Codes::bound, true>(column);
    return run<kSource, Codes::general, true>(column);
  }
  if (codes == Codes::saturate) return run<kSource, Codes::saturate>(column);
  if (codes == Codes::bound) return run<kSource, Codes::bound>(column);
  if (codes == Codes::table) return run<kSource, Codes::table>(column);
  if (codes == Codes::fine) return run<kSource, Codes::fine>(column);
  run<kSource, Codes::general>(column);
}

Codes codes_of(const FlatColumn& column) {
  const EpilogueArgs& e = *column.epilogue;
  if (!column.bounded || column.residual != nullptr || e.leaky) return Codes::general;
  const bool all = e.lo == 0 && e.hi == 255;
  if (e.fine) return Codes::fine;
  if (e.table != nullptr) return all ? Codes::table : Codes::general;
  return all && e.zero_point == 0 ? Codes::saturate : Codes::bound;
}

}  // namespace

void depthwise_u8s8_3x3_vnni(const FlatColumn& column) {
  const FlatConstants& constants = *column.constants;
  const Codes codes = codes_of(column);
  if (~column.mask != 0) return run<Source::pieces>(column, Codes::general);
  if (constants.piece_count == 1) return run<Source::whole>(column, codes);
  if (constants.piece_count == 2) return run<Source::two>(column, codes);
  if (column.pairs) return run<Source::pairs>(column, codes);
  run<Source::pieces>(column, Codes::general);
}

}  // namespace octet
