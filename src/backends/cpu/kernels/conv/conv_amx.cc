// SPDX-License-Identifier: Apache-2.0
// Convolution with AMX tiles: 16 pixels x 64 channels, one tile of activations against four of weights. The weights are
// packed as for vpdpbusd: 16 consecutive chunks of a block are the 16 rows of a tile. Activations are loaded in place
// where the pixels are evenly spaced, else gathered into scratch first.
#include "backends/cpu/kernels/conv/conv_args.h"
#include "backends/cpu/kernels/conv/finish_vnni.h"

namespace octet {
namespace {

constexpr s64 kStep = 16;       // chunks of a full tile
constexpr s64 kStepBytes = 64;  // of one pixel
constexpr s64 kColumns = 64;    // channels of the accumulator block

// Tiles 0-3 accumulate; 4 and 6 hold activations, 5 and 7 weights: of full steps and of the tail of a run.
struct alignas(64) TileConfig {
  u8 palette;
  u8 start_row;
  u8 reserved[14];
  u16 column_bytes[16];
  u8 rows[16];
};
static_assert(sizeof(TileConfig) == 64, "the layout is the hardware's");

void configure(s64 pixels, s64 tail) {
  TileConfig config;
  memset(&config, 0, sizeof(config));
  config.palette = 1;
  const s64 rows[8] = {pixels, pixels, pixels, pixels, pixels, kStep, pixels, tail};
  for (int t = 0; t < 8; ++t) {
    config.rows[t] = static_cast<u8>(rows[t]);
    config.column_bytes[t] = kStepBytes;
  }
  config.column_bytes[6] = static_cast<u16>(tail * kConvChunk);
  if (tail == 0)
    config.rows[6] = config.rows[7] = config.column_bytes[6] = config.column_bytes[7] = 0;
  // g++ 12 believes that only 8 bytes of the operand are read and would drop the stores above.
  asm volatile("" ::: "memory");
  _tile_loadconfig(&config);
}

// The activations of a tile: pixel m, byte k of the window's runs laid end to end, or in place at the runs' offsets.
struct Rows {
  const u8* base;
  s64 stride;
  bool in_place;
};

bool evenly_spaced(const ConvTile& tile) {
  const s64 stride = tile.pixels > 1 ? tile.src[1] - tile.src[0] : 0;
  for (s64 m = 2; m < tile.pixels; ++m) {
    if (tile.src[m] - tile.src[m - 1] != stride) return false;
  }
  return true;
}

Rows gather(const ConvTile& tile, u8* scratch) {
  const s64 run_bytes = tile.run_chunks * kConvChunk;
  const s64 stride = (tile.chunks * kConvChunk + kStepBytes - 1) / kStepBytes * kStepBytes;
  for (s64 m = 0; m < tile.pixels; ++m) {
    u8* dst = scratch + m * stride;
    for (s64 k = 0; k < tile.chunks; k += tile.run_chunks, dst += run_bytes) {
      memcpy(dst, tile.src[m] + tile.offsets[k], static_cast<size_t>(run_bytes));
    }
  }
  return {scratch, stride, false};
}

// The tile instructions take register numbers as literals, so the four columns are written out.
template <int kTiles>
inline void full_step(const u8* a, s64 a_stride, const s8* w, s64 w_stride) {
  _tile_loadd(4, a, a_stride);
  _tile_loadd(5, w, w_stride);
  _tile_dpbusd(0, 4, 5);
  if constexpr (kTiles > 1) {
    _tile_loadd(5, w + 64, w_stride);
    _tile_dpbusd(1, 4, 5);
  }
  if constexpr (kTiles > 2) {
    _tile_loadd(5, w + 128, w_stride);
    _tile_dpbusd(2, 4, 5);
  }
  if constexpr (kTiles > 3) {
    _tile_loadd(5, w + 192, w_stride);
    _tile_dpbusd(3, 4, 5);
  }
}

template <int kTiles>
inline void tail_step(const u8* a, s64 a_stride, const s8* w, s64 w_stride) {
  _tile_loadd(6, a, a_stride);
  _tile_loadd(7, w, w_stride);
  _tile_dpbusd(0, 6, 7);
  if constexpr (kTiles > 1) {
    _tile_loadd(7, w + 64, w_stride);
    _tile_dpbusd(1, 6, 7);
  }
  if constexpr (kTiles > 2) {
    _tile_loadd(7, w + 128, w_stride);
    _tile_dpbusd(2, 6, 7);
  }
  if constexpr (kTiles > 3) {
    _tile_loadd(7, w + 192, w_stride);
    _tile_dpbusd(3, 6, 7);
  }
}

// A load of stride 0 gives every row of the accumulators the channels' bias.
template <int kTiles>
inline void start(const s32* bias) {
  _tile_loadd(0, bias, 0);
  if constexpr (kTiles > 1) _tile_loadd(1, bias + 16, 0);
  if constexpr (kTiles > 2) _tile_loadd(2, bias + 32, 0);
  if constexpr (kTiles > 3) _tile_loadd(3, bias + 48, 0);
}

template <int kTiles>
inline void store(s32* sums) {
  _tile_stored(0, sums, kColumns * 4);
  if constexpr (kTiles > 1) _tile_stored(1, sums + 16, kColumns * 4);
  if constexpr (kTiles > 2) _tile_stored(2, sums + 32, kColumns * 4);
  if constexpr (kTiles > 3) _tile_stored(3, sums + 48, kColumns * 4);
}

template <int kTiles>
void block(const ConvTile& tile, const Rows& rows, s64 c, s32* sums) {
  constexpr s64 kWeightStride = kTiles * 64;
  const s64 full = tile.run_chunks / kStep;
  const bool tail = tile.run_chunks % kStep != 0;
  const s8* w = static_cast<const s8*>(tile.weights) + c * tile.chunks * kConvChunk;
  start<kTiles>(tile.bias + c);
  for (s64 k = 0; k < tile.chunks; k += tile.run_chunks) {
    const u8* a = rows.base + (rows.in_place ? tile.offsets[k] : k * kConvChunk);
    for (s64 step = 0; step < full; ++step) {
      full_step<kTiles>(a, rows.stride, w, kWeightStride);
      a += kStepBytes;
      w += kStep * kWeightStride;
    }
    if (tail) tail_step<kTiles>(a, rows.stride, w, kWeightStride);
    w += tile.run_chunks % kStep * kWeightStride;
  }
  store<kTiles>(sums);
  for (s64 m = 0; m < tile.pixels; ++m) {
    const __m512i row = _mm512_set1_epi32(tile.row_bias != nullptr ? tile.row_bias[m] : 0);
    __m512i acc[kTiles];
    for (int v = 0; v < kTiles; ++v) {
      acc[v] = _mm512_add_epi32(_mm512_loadu_si512(sums + m * kColumns + 16 * v), row);
    }
    finish<kTiles>(tile, m, c, acc);
  }
}

}  // namespace

void conv_u8s8_16x64_amx(const ConvTile& tile) {
  s32* sums = static_cast<s32*>(tile.scratch);
  u8* scratch = static_cast<u8*>(tile.scratch) + kConvMaxPixels * kColumns * 4;
  const Rows rows = evenly_spaced(tile)
                        ? Rows{tile.src[0], tile.pixels > 1 ? tile.src[1] - tile.src[0] : 0, true}
                        : gather(tile, scratch);
  configure(tile.pixels, tile.run_chunks % kStep);
  s64 c = 0;
  for (; c + 48 < tile.channels; c += kColumns) block<4>(tile, rows, c, sums);
  const s64 left = tile.channels - c;
  if (left > 32) {
    block<3>(tile, rows, c, sums);
  } else if (left > 16) {
    block<2>(tile, rows, c, sums);
  } else if (left > 0) {
    block<1>(tile, rows, c, sums);
  }
}

}  // namespace octet
