// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/tile_pack.h"

#include <algorithm>

#include "core/divide.h"

namespace octet {
namespace {

// The channel, within its group, whose weights stand at a position; -1 for none.
s64 channel_at(const ConvGeometry& g, bool wide, s64 padded_channels, s64 position) {
  constexpr s64 kBlock = 4 * kTileColumns;
  const s64 first = position / kBlock * kBlock;
  if (wide && first + kBlock <= padded_channels) {
    const s64 tile = position % kBlock / kTileColumns, column = position % kTileColumns;
    position = first + column / 4 * kTileColumns + 4 * tile + column % 4;
  }
  return position < g.out_channels_per_group() ? position : -1;
}

}  // namespace

// Index k of ConvWeights for byte `b` of the run that starts at tap (y, x).
s64 TilePacker::source(s64 y, s64 x, s64 b) const {
  const s64 channels = g.in_channels_per_group();
  const s64 taps_y = g.window.h().kernel, taps_x = g.window.w().kernel;
  return (b % channels * taps_y + y) * taps_x + x + b / channels;
}

// Four bytes of the run for each column.
void TilePacker::quad(const s64 (&columns)[kTileColumns], s64 y, s64 x, s64 b, s8* at) const {
  const s64 count = std::min<s64>(4, run_bytes - b);
  s64 from[4];
  for (s64 i = 0; i < count; ++i) from[i] = source(y, x, b + i) * weights.k_stride;
  for (s64 c = 0; c < kTileColumns; ++c) {
    if (columns[c] < 0) continue;
    const s8* src = weights.data.data() + columns[c] * weights.channel_stride;
    for (s64 i = 0; i < count; ++i) at[c * 4 + i] = src[from[i]];
  }
}

void TilePacker::tile(const s64 (&columns)[kTileColumns], s8* dst) const {
  const s64 run_taps = run_bytes / g.in_channels_per_group();
  for (s64 y = 0; y < g.window.h().kernel; ++y) {
    for (s64 x = 0; x < g.window.w().kernel; x += run_taps) {
      for (s64 b = 0; b < run_bytes; b += 4) {
        s8* at = dst + b / kTileStep * kTileWeights + b % kTileStep / 4 * 64;
        quad(columns, y, x, b, at);
      }
      dst += (run_bytes + kTileStep - 1) / kTileStep * kTileWeights;
    }
  }
}

PackedTiles pack_tiles(const ConvGeometry& g, const TileOrder& order,
                       const ConvConstants& constants) {
  const s64 channels = g.out_channels_per_group();
  const s64 tile_bytes = order.steps * kTileWeights;
  const s64 padded = ceil_div(channels, kTileColumns) * kTileColumns;
  PackedTiles packed;
  packed.padded_channels = padded;
  packed.weights.resize(static_cast<size_t>(g.groups * padded / kTileColumns * tile_bytes));
  packed.bias.resize(static_cast<size_t>(g.groups * padded));
  packed.multiplier.resize(packed.bias.size());
  const TilePacker packer{g, constants.weights, order.run_bytes};
  s8* dst = packed.weights.data();
  for (s64 first = 0; first < g.groups * padded; first += kTileColumns, dst += tile_bytes) {
    s64 columns[kTileColumns];
    for (s64 c = 0; c < kTileColumns; ++c) {
      columns[c] = channel_at(g, order.wide, padded, first % padded + c);
      if (columns[c] < 0) continue;
      columns[c] += first / padded * channels;
      const auto at = static_cast<size_t>(first + c);
      const auto one = static_cast<size_t>(constants.multiplier.size() == 1 ? 0 : columns[c]);
      packed.bias[at] = folded_bias(constants, g, columns[c]);
      packed.multiplier[at] = constants.multiplier[one];
    }
    packer.tile(columns, dst);
  }
  return packed;
}

std::vector<s64> step_offsets(const ConvGeometry& g, const ImageStrides& in, s64 run_bytes) {
  const WindowAxis& h = g.window.h();
  const WindowAxis& w = g.window.w();
  const s64 run_taps = run_bytes / g.in_channels_per_group();
  std::vector<s64> offsets;
  for (s64 y = 0; y < h.kernel; ++y) {
    for (s64 x = 0; x < w.kernel; x += run_taps) {
      for (s64 b = 0; b < run_bytes; b += kTileStep) {
        offsets.push_back(y * h.dilation * in.row + x * w.dilation * in.pixel + b);
      }
    }
  }
  return offsets;
}

}  // namespace octet
