// SPDX-License-Identifier: Apache-2.0
// The right operand of a product becomes tiles or rows of four, and its columns are summed up, in one pass over it.
#include "backends/cpu/kernels/codes/matmul/tile_matmul_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

constexpr s64 kBlockColumns = kProductBlock * kProductColumns;

// dword 4 * l + t of the result is dword 4 * t + l: the way between packed and plain order, and back.
inline __m512i turned(__m512i x) { return in_register_order(x); }

// Four rows of 64 columns -> row r of four tiles.
inline void interleave(const __m512i rows[4], __m512i tiles[4]) {
  const __m512i lo01 = _mm512_unpacklo_epi8(rows[0], rows[1]);
  const __m512i hi01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
  const __m512i lo23 = _mm512_unpacklo_epi8(rows[2], rows[3]);
  const __m512i hi23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
  tiles[0] = _mm512_unpacklo_epi16(lo01, lo23);
  tiles[1] = _mm512_unpackhi_epi16(lo01, lo23);
  tiles[2] = _mm512_unpacklo_epi16(hi01, hi23);
  tiles[3] = _mm512_unpackhi_epi16(hi01, hi23);
}

// dst[c][r] = src[r][c], dwords of 16 registers.
inline void transpose(__m512i x[16]) {
  __m512i y[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  // Lane l of x[4 * g + c] holds row c + 4 * l of the result, columns 4 * g to 4 * g + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i a = _mm512_shuffle_i32x4(x[c], x[4 + c], 0x44);
    const __m512i b = _mm512_shuffle_i32x4(x[c], x[4 + c], 0xee);
    const __m512i d = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0x44);
    const __m512i e = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0xee);
    y[c] = _mm512_shuffle_i32x4(a, d, 0x88);
    y[4 + c] = _mm512_shuffle_i32x4(a, d, 0xdd);
    y[8 + c] = _mm512_shuffle_i32x4(b, e, 0x88);
    y[12 + c] = _mm512_shuffle_i32x4(b, e, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = y[i];
}

struct BlockPacker {
  const ProductPackJob& job;
  s64 first;    // column
  s64 columns;  // of the block
  s64 tiles;
  bool interleaved;
  s64 tile_stride, row_stride;  // bytes between tiles, and between groups of four rows
  __m512i sums[kProductBlock];

  BlockPacker(const ProductPackJob& j, s64 f)
      : job(j),
        first(f),
        columns(j.n - f < kBlockColumns ? j.n - f : kBlockColumns),
        tiles((columns + kProductColumns - 1) / kProductColumns),
        interleaved(!j.plain && tiles == kProductBlock),
        tile_stride(j.plain ? 64 : kProductTile),
        row_stride(j.plain ? tiles * 64 : 64) {}

  // Groups of four rows from row k on; all 16 where tiles are whole.
  s64 groups(s64 k) const {
    const s64 left = (job.k - k + 3) / 4;
    return job.plain && left < 16 ? left : 16;
  }

  // Rows of b are dense.
  void step_of_rows(s64 k, u8* dst) {
    const __mmask64 mask = first_lanes64(columns);
    const u8* src = job.b + k * job.k_stride + first;
    for (s64 r = 0; r < groups(k); ++r, src += 4 * job.k_stride) {
      __m512i rows[4], parts[4];
      for (s64 i = 0; i < 4; ++i) {
        const bool inside = k + 4 * r + i < job.k;
        rows[i] =
            inside ? _mm512_maskz_loadu_epi8(mask, src + i * job.k_stride) : _mm512_setzero_si512();
        if (!interleaved) rows[i] = turned(rows[i]);
      }
      interleave(rows, parts);
      for (s64 t = 0; t < tiles; ++t) put(t, parts[t], dst + t * tile_stride + r * row_stride);
    }
  }

  // Columns of b are dense.
  void step_of_columns(s64 k, u8* dst) {
    const __mmask64 mask = first_lanes64(job.k - k);
    for (s64 t = 0; t < tiles; ++t) {
      __m512i x[16];
      for (s64 c = 0; c < kProductColumns; ++c) {
        const s64 column = interleaved ? c / 4 * 16 + 4 * t + c % 4 : 16 * t + c;
        const u8* src = job.b + (first + column) * job.n_stride + k;
        x[c] = column < columns ? _mm512_maskz_loadu_epi8(mask, src) : _mm512_setzero_si512();
      }
      transpose(x);
      for (s64 r = 0; r < groups(k); ++r) put(t, x[r], dst + t * tile_stride + r * row_stride);
    }
  }

  void put(s64 tile, __m512i row, u8* dst) {
    dot4(sums[tile], row, _mm512_set1_epi8(1));
    _mm512_storeu_si512(dst, job.plain ? _mm512_xor_si512(row, _mm512_set1_epi8(-128)) : row);
  }

  u8* pack(u8* dst) {
    for (__m512i& sum : sums) sum = _mm512_setzero_si512();
    for (s64 k = 0; k < job.k; k += kProductStep) {
      job.n_stride == 1 ? step_of_rows(k, dst) : step_of_columns(k, dst);
      dst += groups(k) * tiles * 64;
    }
    const auto all = static_cast<s32>(static_cast<u32>(job.k) * static_cast<u32>(job.zero_a) *
                                      static_cast<u32>(job.zero_b));
    for (s64 t = 0; t < tiles; ++t) {
      const s64 at = first + 16 * t;
      const __m512i share = _mm512_mullo_epi32(sums[t], _mm512_set1_epi32(job.zero_a));
      const __m512i bias =
          _mm512_add_epi32(_mm512_loadu_si512(job.bias + at), _mm512_set1_epi32(all));
      _mm512_storeu_si512(job.columns + at, _mm512_sub_epi32(bias, share));
    }
    return dst;
  }
};

}  // namespace

void pack_product_vnni(const ProductPackJob& job) {
  u8* dst = job.packed;
  for (s64 first = 0; first < job.n; first += kBlockColumns) {
    dst = BlockPacker(job, first).pack(dst);
  }
}

s32 row_sum_vnni(const u8* row, s64 k) {
  __m512i sums = _mm512_setzero_si512();
  for (s64 i = 0; i < k; i += 64) {
    dot4(sums, _mm512_maskz_loadu_epi8(first_lanes64(k - i), row + i), _mm512_set1_epi8(1));
  }
  return _mm512_reduce_add_epi32(sums);
}

}  // namespace octet
