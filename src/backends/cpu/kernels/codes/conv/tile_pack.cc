// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/tile_pack.h"

#include <algorithm>

namespace octet {

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
