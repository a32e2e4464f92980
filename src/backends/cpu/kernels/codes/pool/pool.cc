// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/pool/pool.h"

#include <algorithm>
#include <utility>

namespace octet {
namespace {

std::vector<TapRange> ranges(const WindowAxis& axis) {
  std::vector<TapRange> taps;
  for (s64 o = 0; o < axis.out; ++o) taps.push_back(taps_inside(axis, o));
  return taps;
}

bool has_empty(const WindowAxis& axis) {
  for (const TapRange& taps : ranges(axis)) {
    if (taps.first >= taps.last) return true;
  }
  return false;
}

}  // namespace

const char* pool_reject(const Window& window) {
  if (window.rank != 2) return "only 2-D pools have a kernel";
  if (window.kernel_elements() > kMaxPoolWindow) return "the window has more than 2^23 elements";
  if (window.out_elements() > kMaxPoolOutputs) return "the output has more than 2^26 pixels";
  if (has_empty(window.h()) || has_empty(window.w())) return "a window lies wholly in the padding";
  return nullptr;
}

Pool::Pool(const PoolKernel& kernel, PoolSpec spec)
    : kernel_(kernel),
      spec_(std::move(spec)),
      rows_(ranges(spec_.window.h())),
      columns_(ranges(spec_.window.w())) {}

void Pool::run(const u8* x, u8* y, ThreadPool& pool) const noexcept {
  const s64 width = spec_.window.w().out;
  pool.parallel_for(spec_.batch * spec_.window.h().out * width, [&](s64 begin, s64 end, int) {
    for (s64 pixel = begin; pixel < end;) {
      const s64 column = pixel % width, last = std::min(width, column + end - pixel);
      run_row(x, y, {pixel / width, column, last});
      pixel += last - column;
    }
  });
}

// Columns from this one on whose windows have as many elements inside the image.
s64 Pool::like(s64 column, s64 last) const noexcept {
  const TapRange taps = columns_[static_cast<size_t>(column)];
  s64 end = column + 1;
  for (; end < last; ++end) {
    const TapRange other = columns_[static_cast<size_t>(end)];
    if (other.first != taps.first || other.last != taps.last) break;
  }
  return end - column;
}

// What pixels of a row share is computed once: with few channels, divisions for each would take longer than its window.
void Pool::run_row(const u8* x, u8* y, const Piece& piece) const noexcept {
  const WindowAxis& h = spec_.window.h();
  const WindowAxis& w = spec_.window.w();
  const s64 image = piece.row / h.out, row = piece.row % h.out;
  const TapRange ky = rows_[static_cast<size_t>(row)];
  const s64 iy = row * h.stride - h.pad_begin + ky.first * h.dilation;
  const u8* src = x + image * spec_.input.image_stride + iy * spec_.input.row_stride;
  u8* dst = y + image * spec_.output.image_stride + row * spec_.output.row_stride;
  PooledPixel window{.src = src,
                     .rows = ky.last - ky.first,
                     .columns = 0,
                     .row_stride = h.dilation * spec_.input.row_stride,
                     .column_stride = w.dilation * spec_.input.pixel_stride,
                     .channels = spec_.channels,
                     .dst = dst,
                     .pixels = 1,
                     .src_step = w.stride * spec_.input.pixel_stride,
                     .dst_step = spec_.output.pixel_stride,
                     .zero_sum = 0,
                     .multiplier = 0.0f,
                     .epilogue = &spec_.epilogue};
  const std::vector<f32>& multipliers = spec_.multipliers;
  for (s64 column = piece.first; column < piece.last; column += window.pixels) {
    const TapRange kx = columns_[static_cast<size_t>(column)];
    const s64 ix = column * w.stride - w.pad_begin + kx.first * w.dilation;
    window.src = src + ix * spec_.input.pixel_stride;
    window.columns = kx.last - kx.first;
    window.dst = dst + column * spec_.output.pixel_stride;
    window.zero_sum = static_cast<s32>(window.rows * window.columns * spec_.zero_point);
    if (multipliers.empty()) {
      window.pixels = like(column, piece.last);
    } else {
      const s64 at = multipliers.size() == 1 ? 0 : row * w.out + column;
      window.multiplier = multipliers[static_cast<size_t>(at)];
    }
    kernel_.run(window);
  }
}

}  // namespace octet
