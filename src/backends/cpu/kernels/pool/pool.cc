// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/pool/pool.h"

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
  const s64 pixels = spec_.batch * spec_.window.h().out * spec_.window.w().out;
  pool.parallel_for(pixels, [&](s64 begin, s64 end, int) {
    for (s64 pixel = begin; pixel < end; ++pixel) run_pixel(x, y, pixel);
  });
}

void Pool::run_pixel(const u8* x, u8* y, s64 pixel) const noexcept {
  const WindowAxis& h = spec_.window.h();
  const WindowAxis& w = spec_.window.w();
  const s64 column = pixel % w.out, row = pixel / w.out % h.out, image = pixel / w.out / h.out;
  const TapRange ky = rows_[static_cast<size_t>(row)];
  const TapRange kx = columns_[static_cast<size_t>(column)];
  const s64 iy = row * h.stride - h.pad_begin + ky.first * h.dilation;
  const s64 ix = column * w.stride - w.pad_begin + kx.first * w.dilation;
  const s64 count = (ky.last - ky.first) * (kx.last - kx.first);
  PooledPixel window{.src = x + image * spec_.input.image_stride + iy * spec_.input.row_stride +
                            ix * spec_.input.pixel_stride,
                     .rows = ky.last - ky.first,
                     .columns = kx.last - kx.first,
                     .row_stride = h.dilation * spec_.input.row_stride,
                     .column_stride = w.dilation * spec_.input.pixel_stride,
                     .channels = spec_.channels,
                     .dst = y + image * spec_.output.image_stride + row * spec_.output.row_stride +
                            column * spec_.output.pixel_stride,
                     .zero_sum = static_cast<s32>(count * spec_.zero_point),
                     .multiplier = 0.0f,
                     .epilogue = &spec_.epilogue};
  if (!spec_.multipliers.empty()) {
    const s64 at = spec_.multipliers.size() == 1 ? 0 : pixel % (h.out * w.out);
    window.multiplier = spec_.multipliers[static_cast<size_t>(at)];
  }
  kernel_.run(window);
}

}  // namespace octet
