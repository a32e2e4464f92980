// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/conv_cost.h"

#include <algorithm>

#include "backends/cpu/kernels/codes/conv/tile_args.h"
#include "backends/cpu/kernels/codes/conv/tile_merge.h"
#include "core/divide.h"

namespace octet {
namespace {

f64 f(s64 n) { return static_cast<f64>(n); }

s64 taps(const ConvGeometry& g) { return g.window.h().kernel * g.window.w().kernel; }
s64 pixels(const ConvGeometry& g) { return g.batch * g.window.h().out * g.window.w().out; }

// Bytes of a window, and of its runs of adjacent bytes in dense pixels.
s64 depth(const ConvGeometry& g) { return taps(g) * g.in_channels_per_group(); }
s64 run_bytes(const ConvGeometry& g) { return conv_run_bytes(g, {g.in_channels, 0}); }

// All constants are cycles of one core, measured on a machine with AMX; between kernels only their ratio counts.
struct Rates {
  f64 call;          // before the first multiplication
  f64 output;        // a sum through the epilogue
  f64 near_byte;     // a byte of weights from L2
  f64 distant_byte;  // and from beyond it
};

constexpr Rates kTileRates{800, 0.15, 1 / 28.0, 1 / 9.0};
constexpr Rates kDenseRates{200, 0.12, 1 / 36.0, 1 / 11.0};
constexpr s64 kNearBytes = 1 << 20;

f64 stream(const Rates& rates, s64 bytes) {
  return f(bytes) * (bytes <= kNearBytes ? rates.near_byte : rates.distant_byte);
}

// Two units at work at once hide half of the shorter time.
f64 overlapped(f64 a, f64 b) { return std::max(a, b) + std::min(a, b) / 2; }

// Cycles in which `pixels` meet four bytes of 64 channels. A chain of few sums waits for its own latency.
f64 chunk_cycles(const ConvKernel& kernel, s64 pixels) {
  return std::max(5.0, f(pixels * kConvChunk * 64) / kernel.macs_per_cycle);
}

// All rows as one line where that drops few windows, else line by line.
s64 image_cycles(const Window& window) {
  const WindowAxis& h = window.h();
  const WindowAxis& w = window.w();
  const s64 by_line = h.out * tile_line_cost(w.out);
  if (h.stride != w.stride) return by_line;
  return std::min(by_line, tile_line_cost(h.out * (w.out + w.kernel - 1)));
}

}  // namespace

f64 dense_conv_cost(const ConvKernel& kernel, const ConvGeometry& g) {
  const s64 channels = ceil_div(g.out_channels_per_group(), kConvLanes) * kConvLanes * g.groups;
  const s64 chunks = depth(g) / run_bytes(g) * ceil_div(run_bytes(g), kConvChunk);
  const s64 tiles = pixels(g) / kernel.pixels, rest = pixels(g) % kernel.pixels;
  f64 tile_cycles = f(tiles) * chunk_cycles(kernel, kernel.pixels);
  if (rest > 0) tile_cycles += chunk_cycles(kernel, rest);
  const f64 multiply = tile_cycles * f(chunks) * f(channels) / 64;
  const s64 weights = channels * chunks * kConvChunk * kernel.weight_bytes;
  return kDenseRates.call + overlapped(multiply, stream(kDenseRates, weights)) +
         f(pixels(g)) * (f(g.groups) * kernel.pixel_cycles + f(channels) * kDenseRates.output);
}

f64 tile_conv_cost(const ConvGeometry& g) {
  const s64 tiles = ceil_div(g.out_channels_per_group(), kTileColumns) * g.groups;
  const s64 steps = depth(g) / run_bytes(g) * ceil_div(run_bytes(g), kTileStep);
  const s64 rows = g.batch * image_cycles(g.window);
  const f64 multiply = f(rows) * f(tiles * steps);
  return kTileRates.call + overlapped(multiply, stream(kTileRates, tiles * steps * kTileWeights)) +
         f(rows) * f(tiles * kTileColumns) * kTileRates.output;
}

}  // namespace octet
