// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/tile_merge.h"

#include <algorithm>

#include "backends/cpu/kernels/codes/conv/tile_args.h"
#include "core/divide.h"

namespace octet {
namespace {

// Nanoseconds of one tile of 16 pixels by 16 channels, as measured: a multiplication, and storing its sums and turning them
// into codes, which is quickest for four tiles of channels side by side.
constexpr f64 kMultiplication = 5.2;
constexpr f64 kStore = 4.7;
constexpr f64 kFinish[] = {0, 13, 11.5, 13, 10};
// And of up to four such tiles side by side: their pixels are loaded once, their places found once.
constexpr f64 kBlock = 11;

// Tiles of channels and their finishing, in blocks of four and a rest.
f64 finish_cost(s64 tiles) {
  const s64 rest = tiles % 4;
  return static_cast<f64>(ceil_div(tiles, 4)) * kBlock +
         static_cast<f64>(tiles - rest) * kFinish[4] + static_cast<f64>(rest) * kFinish[rest];
}

// Full tiles that would take as long as a line of pixels.
f64 line_tiles(s64 pixels) {
  return static_cast<f64>(tile_line_cost(pixels)) / static_cast<f64>(tile_line_cost(kTileRows));
}

bool mergeable(const ConvGeometry& g, s64 pixels) {
  const WindowAxis& w = g.window.w();
  return g.groups == 1 && w.dilation == 1 && w.out % pixels == 0 &&
         g.out_channels * pixels <= 12 * kTileColumns;
}

bool touch(const Placement& p, s64 channels) { return p.pixel_stride == channels; }

}  // namespace

s64 tile_line_cost(s64 pixels) {
  const s64 tiles = ceil_div(pixels, kTileRows);
  return tiles * (5 + std::max<s64>(8, ceil_div(pixels, tiles)));
}

f64 tile_cost(const ConvGeometry& g) {
  const WindowAxis& h = g.window.h();
  const WindowAxis& w = g.window.w();
  const s64 tiles = ceil_div(g.out_channels, kTileColumns);
  const s64 steps = h.kernel * ceil_div(w.kernel * g.in_channels, kTileStep);
  const bool one_line = w.stride == w.kernel && h.stride == 1 && h.kernel == 1;
  const f64 rows =
      one_line ? line_tiles(w.out * h.out) : static_cast<f64>(h.out) * line_tiles(w.out);
  const f64 fixed = static_cast<f64>(steps) * kMultiplication + kStore;
  return rows * (static_cast<f64>(tiles) * fixed + finish_cost(tiles));
}

ConvGeometry merged_geometry(const ConvGeometry& geometry, s64 pixels) {
  ConvGeometry g = geometry;
  WindowAxis& w = g.window.axes[2];
  w.out /= pixels;
  w.kernel += (pixels - 1) * w.stride;
  w.stride *= pixels;
  g.out_channels *= pixels;
  return g;
}

s64 merged_pixels(const ConvGeometry& geometry) {
  constexpr f64 kWorth = 0.98;  // of the cost without
  s64 best = 1;
  f64 least = kWorth * tile_cost(geometry);
  for (s64 pixels : {2, 4, 8}) {
    if (!mergeable(geometry, pixels)) break;
    const f64 merged = tile_cost(merged_geometry(geometry, pixels));
    if (merged >= least) continue;
    best = pixels;
    least = merged;
  }
  return best;
}

MergedConv::MergedConv(const ConvSpec& spec, TileConstants constants) : spec_(spec) {
  const ConvGeometry& g = spec.geometry;
  const bool residual = spec.residual.layout == Layout::nhwc && spec.residual.pixel_stride != 0;
  const s64 pixels = merged_pixels(g);
  const bool touching = touch(spec.input, g.in_channels) && touch(spec.output, g.out_channels) &&
                        (!residual || touch(spec.residual, g.out_channels));
  if (pixels == 1 || !touching) return;
  spec_.geometry = merged_geometry(g, pixels);
  spec_.output.pixel_stride *= pixels;
  spec_.residual.pixel_stride *= pixels;
  if (constants == TileConstants::turned) merge_constants(spec, pixels);
}

void MergedConv::merge_constants(const ConvSpec& spec, s64 pixels) {
  const ConvGeometry& g = spec.geometry;
  const s64 rows = g.in_channels * g.window.h().kernel;  // of the window's width
  const s64 narrow = g.window.w().kernel, wide = spec_.geometry.window.w().kernel;
  weights_.resize(static_cast<size_t>(spec_.geometry.out_channels * rows * wide));
  for (s64 p = 0; p < pixels; ++p) {
    for (s64 c = 0; c < g.out_channels; ++c) {
      const s64 first = c * spec.weights.channel_stride;
      s8* dst = weights_.data() + (p * g.out_channels + c) * rows * wide + p * g.window.w().stride;
      for (s64 k = 0; k < rows * narrow; ++k)
        dst[k / narrow * wide + k % narrow] =
            spec.weights.data[static_cast<size_t>(first + k * spec.weights.k_stride)];
    }
    bias_.insert(bias_.end(), spec.bias.begin(), spec.bias.end());
    if (spec.multiplier.size() > 1)
      multiplier_.insert(multiplier_.end(), spec.multiplier.begin(), spec.multiplier.end());
  }
  spec_.weights = {weights_, rows * wide, 1};
  spec_.bias = bias_;
  if (!multiplier_.empty()) spec_.multiplier = multiplier_;
}

}  // namespace octet
