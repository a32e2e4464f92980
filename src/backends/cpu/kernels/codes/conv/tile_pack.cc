// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/tile_pack.h"

#include <cstring>

#include "backends/cpu/kernels/codes/move/move.h"
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

// A channel's weights in the order of runs, behind each of which `to` keeps its zeros up to a whole step.
void gather(const ConvGeometry& g, const ConvWeights& weights, const TileOrder& order, s64 channel,
            s8* to) {
  const WindowAxis &h = g.window.h(), &w = g.window.w();
  const s64 inputs = g.in_channels_per_group(), run_taps = order.run_bytes / inputs;
  const s64 stride = h.kernel * w.kernel * weights.k_stride;  // between input channels
  const s8* from = weights.data.data() + channel * weights.channel_stride;
  for (s64 tap = 0; tap < h.kernel * w.kernel; tap += run_taps) {
    for (s64 t = 0; t < run_taps; ++t) {
      const s8* src = from + (tap + t) * weights.k_stride;
      s8* run = to + t * inputs;
      if (stride == 1) std::memcpy(run, src, static_cast<size_t>(inputs));
      for (s64 i = 0; stride != 1 && i < inputs; ++i) run[i] = src[i * stride];
    }
    to += ceil_div(order.run_bytes, kTileStep) * kTileStep;
  }
}

}  // namespace

PackedTiles pack_tiles(const ConvGeometry& g, const TileOrder& order,
                       const ConvConstants& constants, Isa isa) {
  const s64 channels = g.out_channels_per_group();
  const s64 tile_bytes = order.steps * kTileWeights;
  const s64 padded = ceil_div(channels, kTileColumns) * kTileColumns;
  PackedTiles packed;
  packed.padded_channels = padded;
  packed.weights.resize(static_cast<size_t>(g.groups * padded / kTileColumns * tile_bytes));
  packed.bias.resize(static_cast<size_t>(g.groups * padded));
  packed.multiplier.resize(packed.bias.size());
  // A tile's columns as rows, of which then the words are turned.
  const s64 row_bytes = order.steps * kTileStep;
  std::vector<s8> rows(static_cast<size_t>(kTileColumns * row_bytes));
  s8* dst = packed.weights.data();
  for (s64 first = 0; first < g.groups * padded; first += kTileColumns, dst += tile_bytes) {
    for (s64 c = 0; c < kTileColumns; ++c) {
      s8* row = rows.data() + c * row_bytes;
      s64 channel = channel_at(g, order.wide, padded, first % padded + c);
      if (channel < 0) {
        std::memset(row, 0, static_cast<size_t>(row_bytes));
        continue;
      }
      channel += first / padded * channels;
      const auto at = static_cast<size_t>(first + c);
      const auto one = static_cast<size_t>(constants.multiplier.size() == 1 ? 0 : channel);
      packed.bias[at] = folded_bias(constants, g, channel);
      packed.multiplier[at] = constants.multiplier[one];
      gather(g, constants.weights, order, channel, row);
    }
    constexpr s64 kWord = sizeof(u32);
    transpose_matrix(
        {rows.data(), row_bytes / kWord, dst, kTileColumns, kTileColumns, row_bytes / kWord, isa},
        kWord);
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
