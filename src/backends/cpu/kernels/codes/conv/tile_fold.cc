// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/conv/tile_fold.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/codes/conv/tile_merge.h"

namespace octet {
namespace {

// Bytes of folded rows beside which weights and sums still find room in L1.
constexpr s64 kBandBytes = 28 << 10;
// Nanoseconds, as measured: a register of four folded pixels, and a row's two copies.
constexpr f64 kFoldRegister = 1.5;
constexpr f64 kFoldRow = 60;

bool foldable(const ConvGeometry& g) {
  const auto halves = [](const WindowAxis& a) {
    return a.stride == 2 && a.dilation == 1 && a.kernel > 2 && a.out > 0;
  };
  return g.groups == 1 && g.window.rank == 2 && (g.in_channels == 3 || g.in_channels == 4) &&
         halves(g.window.h()) && halves(g.window.w());
}

void fold_axis(WindowAxis& a) {
  a.kernel = (a.kernel + 1) / 2;
  a.stride = 1;
  a.pad_begin = a.pad_end = 0;
  a.in = a.out + a.kernel - 1;
}

f64 merged_cost(const ConvGeometry& g) { return tile_cost(merged_geometry(g, merged_pixels(g))); }

}  // namespace

ConvGeometry folded_geometry(const ConvGeometry& geometry) {
  ConvGeometry g = geometry;
  g.in_channels = kFoldedChannels;
  fold_axis(g.window.axes[1]);
  fold_axis(g.window.axes[2]);
  return g;
}

bool folds(const ConvGeometry& geometry) {
  constexpr f64 kWorth = 0.9;
  if (!foldable(geometry)) return false;
  const ConvGeometry folded = folded_geometry(geometry);
  const auto rows = static_cast<f64>(folded.window.h().in);
  const s64 registers = (folded.window.w().in + 3) / 4;
  const f64 folding = rows * (kFoldRow + static_cast<f64>(registers) * kFoldRegister);
  return merged_cost(folded) + folding < kWorth * merged_cost(geometry);
}

ConvGeometry tile_geometry(const ConvGeometry& geometry) {
  return folds(geometry) ? folded_geometry(geometry) : geometry;
}

FoldedInput::FoldedInput(const ConvGeometry& geometry, const Placement& placement, u8 padding)
    : window_(geometry.window),
      folded_(folded_geometry(geometry).window),
      channels_(geometry.in_channels),
      placement_(placement),
      padding_(padding) {
  const s64 pair = 2 * channels_;
  for (s64 i = 0; i < 64; ++i) {
    const s64 first = i / kFoldedChannels * pair, byte = i % kFoldedChannels;
    const s64 from = byte < pair ? first + byte : 64 + first + byte - pair;
    order_[static_cast<size_t>(i)] = static_cast<u8>(byte < 2 * pair ? from : 0);
  }
}

s64 FoldedInput::band_rows() const {
  const s64 rows = kBandBytes / (blocks() * kFoldedChannels) - folded_.h().kernel + 1;
  return std::clamp<s64>(rows, 1, folded_.h().out);
}

s64 FoldedInput::buffer_bytes() const {
  const s64 rows = band_rows() + folded_.h().kernel - 1;
  return (rows * blocks() * kFoldedChannels + 127) / 64 * 64;
}

// With room behind for whole registers, as there is behind the folded rows.
s64 FoldedInput::row_bytes() const { return (2 * blocks() * channels_ + 127) / 64 * 64; }

void FoldedInput::fill_row(const u8* image, s64 row, u8* dst) const noexcept {
  const s64 width = 2 * blocks();
  const auto fill = [&](s64 x, s64 count) {
    std::memset(dst + x * channels_, padding_, static_cast<size_t>(count * channels_));
  };
  if (row < 0 || row >= window_.h().in) return fill(0, width);
  const s64 left = std::min(window_.w().pad_begin, width);
  const s64 inside = std::clamp<s64>(width - left, 0, window_.w().in);
  const u8* src = image + row * placement_.row_stride;
  fill(0, left);
  fill(left + inside, width - left - inside);
  if (placement_.pixel_stride == channels_) {
    std::memcpy(dst + left * channels_, src, static_cast<size_t>(inside * channels_));
    return;
  }
  for (s64 x = 0; x < inside; ++x) {
    std::memcpy(dst + (left + x) * channels_, src + x * placement_.pixel_stride,
                static_cast<size_t>(channels_));
  }
}

void FoldedInput::copy(void (*fold)(const FoldJob&), const Band& band) const noexcept {
  const u8* image = band.images + band.image * placement_.image_stride;
  u8* lower = band.scratch + row_bytes();
  u8* dst = band.dst;
  for (s64 y = band.first; y < band.first + band.rows + folded_.h().kernel - 1; ++y) {
    const s64 row = 2 * y - window_.h().pad_begin;
    fill_row(image, row, band.scratch);
    fill_row(image, row + 1, lower);
    fold({band.scratch, lower, dst, blocks(), 2 * channels_, order_.data()});
    dst += blocks() * kFoldedChannels;
  }
}

FoldedConv::FoldedConv(const ConvSpec& spec, TileConstants constants) : spec_(spec) {
  const ConvGeometry& g = spec.geometry;
  if (!folds(g)) return;
  input_.emplace(g, spec.input, static_cast<u8>(spec.input_zero_point));
  spec_.geometry = folded_geometry(g);
  const Window& folded = spec_.geometry.window;
  spec_.input = {Layout::nhwc, kFoldedChannels, kFoldedChannels * folded.w().in,
                 kFoldedChannels * folded.w().in * folded.h().in, 0};
  if (constants == TileConstants::turned) fold_weights(spec);
}

void FoldedConv::fold_weights(const ConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const Window& folded = spec_.geometry.window;
  const s64 h = g.window.h().kernel, w = g.window.w().kernel;
  const s64 folded_h = folded.h().kernel, folded_w = folded.w().kernel;
  const s64 depth = kFoldedChannels * folded_h * folded_w;
  weights_.resize(static_cast<size_t>(g.out_channels * depth));
  for (s64 out = 0; out < g.out_channels; ++out) {
    for (s64 k = 0; k < g.in_channels * h * w; ++k) {
      const s64 c = k / (h * w), y = k / w % h, x = k % w;
      const s64 channel = (y % 2 * 2 + x % 2) * g.in_channels + c;
      const s64 to = (channel * folded_h + y / 2) * folded_w + x / 2;
      const s64 from = out * spec.weights.channel_stride + k * spec.weights.k_stride;
      weights_[static_cast<size_t>(out * depth + to)] =
          spec.weights.data[static_cast<size_t>(from)];
    }
  }
  spec_.weights = {weights_, depth, 1};
}

}  // namespace octet
