// SPDX-License-Identifier: Apache-2.0
// Convolution with vpmaddubsw where it cannot saturate (conv_pairs.h): 6 pixels x 8 channels at a time. A tile's bytes are
// first written in the orders in which the weights want them.
#include "backends/cpu/kernels/codes/conv/conv_pixels.h"
#include "backends/cpu/kernels/codes/conv/finish_avx2.h"

namespace octet {
namespace {

constexpr s64 kStepBytes = kPairLanes * kConvChunk;  // weights
constexpr s64 kAhead = 4096;  // bytes of weights: those of large layers come from beyond L2

inline __m256i broadcast4(const u8* src) {
  s32 bytes;
  memcpy(&bytes, src, sizeof(bytes));
  return _mm256_set1_epi32(bytes);
}

template <class T>
inline void copy(const u8* src, s64 at, u8* dst) {
  memcpy(dst + at, src + at, sizeof(T));
}

// The last piece of a run overlaps the one before.
template <class T>
inline void copy_pieces(const u8* src, s64 count, u8* dst) {
  constexpr s64 kPiece = sizeof(T);
  for (s64 i = 0; i + kPiece < count; i += kPiece) copy<T>(src, i, dst);
  copy<T>(src, count - kPiece, dst);
}

// The bytes of one pixel's window as they lie.
inline void copy_runs(const ConvTile& tile, const u8* src, u8* dst) {
  const ConvRun* runs = tile.pair_runs + tile.pair_rows->first_run;
  for (s64 r = 0; r < tile.pair_rows->run_count; ++r) {
    const s64 count = runs[r].chunks * kConvChunk;
    const u8* from = src + runs[r].offset;
    if (count >= 32) {
      copy_pieces<__m256i>(from, count, dst);
    } else if (count >= 16) {
      copy_pieces<__m128i>(from, count, dst);
    } else if (count >= 8) {
      copy_pieces<u64>(from, count, dst);
    } else {
      copy<u32>(from, 0, dst);
    }
    dst += count;
  }
}

// The order of a chunk's bytes, for all chunks of a register.
inline __m256i chunk_order(s32 order) {
  return _mm256_add_epi32(_mm256_set1_epi32(order),
                          _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404,
                                            0x08080808, 0x0c0c0c0c));
}

// The other variants and the words are made of the first: rows of whole registers, so nothing has a tail. What the stores
// might overwrite as far as the compiler knows is copied first.
template <int kPixels>
void write_variants(const ConvPairRows& rows, u8* first) {
  const s64 bytes = rows.bytes, pitch = rows.pitch, variants = rows.variants;
  const bool words = rows.words;
  for (s64 v = 1; v < variants; ++v) {
    const __m256i order = chunk_order(rows.orders[v]);
    const __m256i flip = _mm256_set1_epi32(rows.flips[v]);
    const s64 shift = v * bytes;
    for (s64 i = 0; i < bytes; i += 32) {
      u8* at = first + i;
#pragma GCC unroll 8
      for (int m = 0; m < kPixels; ++m, at += pitch) {
        const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(at));
        const __m256i y = _mm256_xor_si256(_mm256_shuffle_epi8(x, order), flip);
        _mm256_store_si256(reinterpret_cast<__m256i*>(at + shift), y);
      }
    }
  }
  for (s64 i = 0; words && i < bytes; i += 16) {
    u8* at = first + i;
    u8* to = first + variants * bytes + 2 * i;
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m, at += pitch, to += pitch) {
      const __m128i x = _mm_load_si128(reinterpret_cast<const __m128i*>(at));
      _mm256_store_si256(reinterpret_cast<__m256i*>(to), _mm256_cvtepu8_epi16(x));
    }
  }
}

inline __m256i weights_at(const s8* weights, s64 step) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + step * kStepBytes));
}

// The empty asm keeps the order of the additions, see conv_avx2.cc.
inline void accumulate(__m256i& acc, __m256i x) {
  acc = _mm256_add_epi32(acc, x);
  asm("" : "+x"(acc));
}

struct Cursor {
  const s32* position;
  const s8* weights;
};

template <int kPixels>
[[gnu::always_inline]] inline void swapped_steps(const u8* const row[kPixels], s32 order, s64 count,
                                                 Cursor& from, __m256i acc[kPixels]) {
  if (count == 0) return;
  const __m256i ones = _mm256_set1_epi16(1), shuffle = chunk_order(order);
  for (s64 k = 0; k < count; ++k, ++from.position, from.weights += kStepBytes) {
    const s64 at = *from.position;
    const __m256i w = weights_at(from.weights, 0);
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m) {
      const __m256i x = _mm256_shuffle_epi8(broadcast4(row[m] + at), shuffle);
      accumulate(acc[m], _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), ones));
    }
  }
}

// The sums of a block's 8 channels, which start with their biases.
template <int kPixels>
[[gnu::always_inline]] inline void products(const ConvTile& tile, const ConvPairBlock& block,
                                            const u8* const row[kPixels], __m256i acc[kPixels]) {
  const __m256i ones = _mm256_set1_epi16(1);
  Cursor at{tile.pair_positions + block.first_position,
            static_cast<const s8*>(tile.weights) + block.first_weight};
  for (s64 k = 0; k < block.doubles; ++k, at.position += 2, at.weights += 2 * kStepBytes) {
    const s64 first = at.position[0], second = at.position[1];
    _mm_prefetch(reinterpret_cast<const char*>(at.weights + kAhead), _MM_HINT_T0);
    const __m256i w0 = weights_at(at.weights, 0), w1 = weights_at(at.weights, 1);
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m) {
      const __m256i a = _mm256_maddubs_epi16(broadcast4(row[m] + first), w0);
      const __m256i b = _mm256_maddubs_epi16(broadcast4(row[m] + second), w1);
      accumulate(acc[m], _mm256_madd_epi16(_mm256_add_epi16(a, b), ones));
    }
  }
  for (s64 k = 0; k < block.singles; ++k, ++at.position, at.weights += kStepBytes) {
    const s64 position = at.position[0];
    const __m256i w = weights_at(at.weights, 0);
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m)
      accumulate(acc[m],
                 _mm256_madd_epi16(_mm256_maddubs_epi16(broadcast4(row[m] + position), w), ones));
  }
  swapped_steps<kPixels>(row, 0x03010200, block.swapped[0], at, acc);
  swapped_steps<kPixels>(row, 0x02010300, block.swapped[1], at, acc);
  for (s64 k = 0; k < block.words; ++k, ++at.position, at.weights += 2 * kStepBytes) {
    const s64 position = at.position[0];
    const __m256i w0 = weights_at(at.weights, 0), w1 = weights_at(at.weights, 1);
#pragma GCC unroll 8
    for (int m = 0; m < kPixels; ++m) {
      accumulate(acc[m], _mm256_madd_epi16(broadcast4(row[m] + position), w0));
      accumulate(acc[m], _mm256_madd_epi16(broadcast4(row[m] + position + kConvChunk), w1));
    }
  }
}

template <int kPixels>
[[gnu::noinline]] void block(const ConvTile& tile, s64 c) {
  const u8* row[kPixels];
  __m256i start[kPixels][2], low[kPixels], high[kPixels], acc[kPixels][2];
  start_tile<kPixels>(tile, c, start);
#pragma GCC unroll 8
  for (int m = 0; m < kPixels; ++m) {
    row[m] = tile.pair_rows->variants == 0
                 ? tile.src[m]
                 : static_cast<const u8*>(tile.scratch) + m * tile.pair_rows->pitch;
    low[m] = start[m][0];
    high[m] = start[m][1];
  }
  const ConvPairBlock* blocks = tile.pair_blocks + c / kPairLanes;
  products<kPixels>(tile, blocks[0], row, low);
  if (c + kPairLanes < tile.channels) products<kPixels>(tile, blocks[1], row, high);
#pragma GCC unroll 8
  for (int m = 0; m < kPixels; ++m) {
    acc[m][0] = low[m];
    acc[m][1] = high[m];
  }
  finish_tile<kPixels>(tile, c, acc);
}

template <int kPixels>
void row(const ConvTile& tile) {
  const ConvPairRows& rows = *tile.pair_rows;
  u8* const bytes = static_cast<u8*>(tile.scratch);
  if (rows.variants > 0) {
    for (int m = 0; m < kPixels; ++m) copy_runs(tile, tile.src[m], bytes + m * rows.pitch);
    write_variants<kPixels>(rows, bytes);
  }
  for (s64 c = 0; c < tile.channels; c += kConvLanes) block<kPixels>(tile, c);
}

}  // namespace

void conv_u8s8_6x16_pairs_avx2(const ConvTile& tile) {
  with_pixels(tile, [&](auto n) { row<decltype(n)::kPixels>(tile); });
}

}  // namespace octet
