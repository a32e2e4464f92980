// SPDX-License-Identifier: Apache-2.0
// 3x3 depthwise convolution down a column of 32 bytes in 256-bit registers: what flat_avx2.cc and flat_avxvnni.cc share, of
// internal linkage. Those give a `Product`: how a row of taps is interleaved and multiplied. See flat_vnni.cc.
#pragma once

#include "backends/cpu/kernels/codes/depthwise/flat_args.h"
#include "backends/cpu/kernels/codes/simd_avx2.h"

namespace octet {
namespace {

// Registers j of a row hold what unpacking bytes leaves: channels 4j..4j+3 of each 128-bit lane, 4 sums for each.
struct Sums {
  __m256i r[4];
};

// Half a column: the 32 bytes from `first`.
struct FlatHalf {
  const FlatColumn& column;
  s64 first;
  bool whole;  // 32 adjacent bytes; else pieces, whose masks are whole quads of bytes
  __m256i mask;
  __m256i piece_masks[kFlatMaxPieces];

  FlatHalf(const FlatColumn& c, s64 from) : column(c), first(from) {
    const u64 bytes = c.mask >> from;
    mask = quads(bytes);
    whole = c.constants->piece_count == 1 && (bytes & 0xffffffff) == 0xffffffff;
    for (s64 i = 0; i < c.constants->piece_count; ++i) {
      piece_masks[i] = quads(
          c.constants->piece_count == 1 ? bytes : (c.constants->pieces[i].mask & c.mask) >> from);
    }
  }

  // Bit 4i of the mask -> all bits of quad i.
  static __m256i quads(u64 mask) {
    const __m256i bit =
        _mm256_set_epi32(1 << 28, 1 << 24, 1 << 20, 1 << 16, 1 << 12, 1 << 8, 1 << 4, 1);
    const __m256i bits = _mm256_set1_epi32(static_cast<s32>(static_cast<u32>(mask)));
    return _mm256_cmpeq_epi32(_mm256_and_si256(bits, bit), bit);
  }

  __m256i load(const u8* src) const {
    if (whole) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
    __m256i x = _mm256_setzero_si256();
    for (s64 i = 0; i < column.constants->piece_count; ++i) {
      const u8* piece = src + column.constants->pieces[i].offset;
      x = _mm256_or_si256(
          x, _mm256_maskload_epi32(reinterpret_cast<const int*>(piece), piece_masks[i]));
    }
    return x;
  }

  __m256i load_residual(s64 row) const {
    const u8* src = column.residual + row * column.residual_row + first;
    return _mm256_maskload_epi32(reinterpret_cast<const int*>(src), mask);
  }

  void store(s64 row, __m256i codes) const {
    u8* dst = column.dst + row * column.dst_row + first;
    if (whole) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), codes);
    } else {
      _mm256_maskstore_epi32(reinterpret_cast<int*>(dst), mask, codes);
    }
  }
};

inline Sums biases(const FlatHalf& half) {
  Sums sums;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const void* bias = half.column.constants->bias[j] + half.first / 4;
    sums.r[j] = _mm256_loadu_si256(static_cast<const __m256i*>(bias));
  }
  return sums;
}

// kPlain: no residual, slope or table, and nothing leaves the range of s32.
template <bool kPlain>
inline void finish(const FlatHalf& half, s64 row, const Sums& sums) {
  const EpilogueArgs& e = *half.column.epilogue;
  __m256 t[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const f32* multiplier = half.column.constants->multiplier[j] + half.first / 4;
    t[j] = _mm256_mul_ps(_mm256_cvtepi32_ps(sums.r[j]), _mm256_loadu_ps(multiplier));
  }
  if constexpr (kPlain) {
    __m256i n[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) n[j] = _mm256_cvtps_epi32(t[j]);
    half.store(row, pack_codes(e, n));
    return;
  }
  if (half.column.residual != nullptr) {
    __m256i r[4];
    widen_in_lanes(half.load_residual(row), r);
    for (int j = 0; j < 4; ++j) t[j] = add_residual(e, t[j], r[j]);
  }
  if (e.leaky) {
    for (int j = 0; j < 4; ++j) t[j] = leaky(t[j], e.alpha);
  }
  half.store(row, final_codes(e, t));
}

template <class Product>
inline typename Product::Row row_of(const FlatHalf& half, const u8* src) {
  const s64 tap = half.column.tap;
  return Product::interleaved(half.load(src), half.load(src + tap), half.load(src + 2 * tap));
}

// Output row y reads input rows y, y + 1, y + 2: three rows of sums are under way.
template <class Product, bool kPlain>
void every_row(const FlatHalf& half, const Product& product) {
  const u8* src = half.column.src + half.first;
  Sums top = biases(half);
  typename Product::Row x = row_of<Product>(half, src);
  product.add(top, x, 0);
  src += half.column.src_row;
  x = row_of<Product>(half, src);
  product.add(top, x, 1);
  Sums middle = biases(half);
  product.add(middle, x, 0);
  for (s64 row = 0; row < half.column.rows; ++row) {
    src += half.column.src_row;
    x = row_of<Product>(half, src);
    product.add(top, x, 2);
    finish<kPlain>(half, row, top);
    product.add(middle, x, 1);
    top = middle;
    middle = biases(half);
    product.add(middle, x, 0);
  }
}

// Output row y reads input rows 2y, 2y + 1, 2y + 2: the last is the first of the next.
template <class Product, bool kPlain>
void every_second_row(const FlatHalf& half, const Product& product) {
  const u8* src = half.column.src + half.first;
  typename Product::Row x = row_of<Product>(half, src);
  for (s64 row = 0; row < half.column.rows; ++row) {
    Sums sums = biases(half);
    product.add(sums, x, 0);
    product.add(sums, row_of<Product>(half, src + half.column.src_row), 1);
    src += 2 * half.column.src_row;
    x = row_of<Product>(half, src);
    product.add(sums, x, 2);
    finish<kPlain>(half, row, sums);
  }
}

template <class Product>
inline void run_flat(const FlatColumn& column) {
  const EpilogueArgs& e = *column.epilogue;
  const bool plain = column.bounded && column.residual == nullptr && !e.leaky && e.table == nullptr;
  for (s64 first = 0; first < kFlatBytes && column.mask >> first != 0; first += 32) {
    const FlatHalf half(column, first);
    const Product product(*column.constants, first);
    if (column.stride_y == 1) {
      plain ? every_row<Product, true>(half, product) : every_row<Product, false>(half, product);
    } else {
      plain ? every_second_row<Product, true>(half, product)
            : every_second_row<Product, false>(half, product);
    }
  }
}

}  // namespace
}  // namespace octet
