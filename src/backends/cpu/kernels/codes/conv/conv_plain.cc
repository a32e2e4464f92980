// SPDX-License-Identifier: Apache-2.0
// The portable convolution kernel: one pixel x 16 channels.
#include "backends/cpu/kernels/codes/conv/conv_args.h"
#include "backends/cpu/kernels/codes/scalar_epilogue.h"

namespace octet {
namespace {

// Weights: [chunks][16][4] s8. Sums wrap as the vector kernels' do.
void accumulate(const ConvTile& tile, const u8* src, const s8* weights, u32 acc[kConvLanes]) {
  for (s64 k = 0; k < tile.chunks; ++k, weights += kConvLanes * kConvChunk) {
    const u8* x = src + tile.offsets[k];
    for (s64 c = 0; c < kConvLanes; ++c) {
      s32 sum = 0;
      for (s64 i = 0; i < kConvChunk; ++i) sum += x[i] * weights[c * kConvChunk + i];
      acc[c] += static_cast<u32>(sum);
    }
  }
}

void finish(const ConvTile& tile, s64 m, s64 first, const u32 acc[kConvLanes]) {
  const s64 end = tile.channels - first < kConvLanes ? tile.channels - first : kConvLanes;
  const u8* residual = tile.residual != nullptr ? tile.residual[m] : nullptr;
  for (s64 c = 0; c < end; ++c) {
    const f32 t = static_cast<f32>(static_cast<s32>(acc[c])) * tile.multiplier[first + c];
    store_scalar(*tile.epilogue, t, residual, tile.dst[m], tile.first_channel + first + c);
  }
}

}  // namespace

void conv_u8s8_1x16_plain(const ConvTile& tile) {
  for (s64 m = 0; m < tile.pixels; ++m) {
    const u32 row = tile.row_bias != nullptr ? static_cast<u32>(tile.row_bias[m]) : 0;
    for (s64 first = 0; first < tile.channels; first += kConvLanes) {
      u32 acc[kConvLanes];
      for (s64 c = 0; c < kConvLanes; ++c) acc[c] = static_cast<u32>(tile.bias[first + c]) + row;
      const s8* weights = static_cast<const s8*>(tile.weights) + first * tile.chunks * kConvChunk;
      accumulate(tile, tile.src[m], weights, acc);
      finish(tile, m, first, acc);
    }
  }
}

}  // namespace octet
