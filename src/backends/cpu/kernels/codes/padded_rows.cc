// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/padded_rows.h"

#include <algorithm>
#include <cstring>

#include "core/checked.h"

namespace octet {
namespace {

// A quarter of the smallest L2 that these instruction sets come with.
constexpr s64 kBandBytes = 256 << 10;
constexpr s64 kSlack = 64;

s64 pad_behind(const WindowAxis& axis) { return span_of(axis) - axis.pad_begin - axis.in; }

}  // namespace

s64 window_border(const Window& window) {
  const WindowAxis& h = window.h();
  const WindowAxis& w = window.w();
  return std::max({s64{0}, h.pad_begin, w.pad_begin, pad_behind(h), pad_behind(w)});
}

const char* padded_rows_reject(const Window& window, s64 channels) {
  const auto row = checked_mul(span_of(window.w()), channels);
  const auto rows = row ? checked_mul(*row, window.h().extent()) : std::nullopt;
  if (!rows || *rows > (s64{1} << 30)) return "one window's padded input rows pass 1 GiB";
  return nullptr;
}

s64 PaddedRows::band_rows() const {
  const WindowAxis& h = window_.h();
  const s64 rows = kBandBytes / std::max<s64>(row_bytes(), 1) - h.extent();
  return std::clamp<s64>(rows / h.stride + 1, 1, std::max<s64>(h.out, 1));
}

s64 PaddedRows::buffer_bytes() const {
  return (row_bytes() * input_rows(band_rows()) + kSlack + 63) / 64 * 64;
}

void PaddedRows::copy(const Image& image, s64 first, s64 rows, u8* dst) const noexcept {
  const WindowAxis& h = window_.h();
  const WindowAxis& w = window_.w();
  const s64 width = span_of(w);
  const s64 left = std::min(w.pad_begin, width);
  const s64 inside = std::clamp<s64>(width - left, 0, w.in);
  const s64 begin = first * h.stride - h.pad_begin;
  const auto fill = [&](s64 x, s64 count) {
    std::memset(dst + x * channels_, image.padding, static_cast<size_t>(count * channels_));
  };
  for (s64 row = begin; row < begin + input_rows(rows); ++row, dst += width * channels_) {
    if (row < 0 || row >= h.in) {
      fill(0, width);
      continue;
    }
    fill(0, left);
    fill(left + inside, width - left - inside);
    const u8* src = image.data + row * image.placement.row_stride;
    if (image.placement.pixel_stride == channels_) {
      std::memcpy(dst + left * channels_, src, static_cast<size_t>(inside * channels_));
      continue;
    }
    for (s64 x = 0; x < inside; ++x) {
      std::memcpy(dst + (left + x) * channels_, src + x * image.placement.pixel_stride,
                  static_cast<size_t>(channels_));
    }
  }
}

}  // namespace octet
