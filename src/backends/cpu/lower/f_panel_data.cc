// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/f_panel_data.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cpu/kernels/float/cast.h"
#include "backends/cpu/lower/bf16_values.h"
#include "core/small_types.h"

namespace octet {
namespace {

constexpr s64 kBytes = sizeof(f32);

size_t bytes_of(s64 cells) { return static_cast<size_t>(cells * kBytes); }

void narrow_pixels(const RowCopy& copy, const f32* from, s64 count, f32* to) {
  if (copy.from.pixel == copy.channels && 2 * copy.to.pixel == copy.channels) {
    return narrowed(from, count * copy.channels, reinterpret_cast<std::byte*>(to));
  }
  for (s64 x = 0; x < count; ++x, from += copy.from.pixel, to += copy.to.pixel) {
    if (copy.channels % 2 != 0) to[copy.channels / 2] = 0.0f;
    narrowed(from, copy.channels, reinterpret_cast<std::byte*>(to));
  }
}

void copy_pairs(const RowCopy& copy, const bf16* from, s64 count, f32* to) {
  if (copy.from.pixel == copy.channels && 2 * copy.to.pixel == copy.channels) {
    std::memcpy(to, from, bytes_of(count * copy.to.pixel));
    return;
  }
  if (copy.channels == 3 && copy.from.pixel == 3 && copy.to.pixel == 2) {
    const CastArgs pixels{from, to, count};
    return pad_three_vnni(&pixels);
  }
  for (s64 x = 0; x < count; ++x, from += copy.from.pixel, to += copy.to.pixel) {
    if (copy.channels % 2 != 0) to[copy.channels / 2] = 0.0f;
    std::memcpy(to, from, static_cast<size_t>(copy.channels) * sizeof(bf16));
  }
}

void copy_pixels(const RowCopy& copy, const std::byte* at, s64 count, f32* to) {
  if (count <= 0) return;
  if (copy.halves) return copy_pairs(copy, reinterpret_cast<const bf16*>(at), count, to);
  const f32* from = reinterpret_cast<const f32*>(at);
  if (copy.pairs) return narrow_pixels(copy, from, count, to);
  if (copy.from.pixel == copy.to.pixel) {
    std::memcpy(to, from, bytes_of(count * copy.to.pixel));
    return;
  }
  for (s64 x = 0; x < count; ++x)
    std::memcpy(to + x * copy.to.pixel, from + x * copy.from.pixel, bytes_of(copy.channels));
}

}  // namespace

void RowCopy::operator()(const std::byte* image, s64 first, s64 count, f32* dst) const noexcept {
  const s64 inside = std::clamp<s64>(columns, 0, width - left);
  for (s64 y = first; y < first + count; ++y, dst += to.row) {
    if (y < 0 || y >= rows) {
      std::memset(dst, 0, bytes_of(to.row));
      continue;
    }
    const s64 last = std::min(inside, pixels - y * columns);
    std::memset(dst, 0, bytes_of(left * to.pixel));
    copy_pixels(*this, image + y * from.row * element_bytes(halves), last, dst + left * to.pixel);
    std::memset(dst + (left + last) * to.pixel, 0, bytes_of((width - left - last) * to.pixel));
  }
}

PackedPanels::PackedPanels(const Tensor& given, const Tensor& given_bias, const PanelWeights& from,
                           const PanelKernel& kernel) {
  const s64 lanes = kernel.lanes, outs = rounded_up(from.outs, lanes);
  const s64 cells = kernel.cells(from.channels);
  weights = Tensor(Dtype::f32, Shape{from.groups, outs * from.taps * cells});
  bias = Tensor(Dtype::f32, Shape{from.groups, outs});
  f32* to = weights.mutable_as<f32>().data();
  // Of a pair the second channel may be missing.
  const auto pair = [&](const f32* first, bool whole) {
    const u32 low = bf16(first[0]).bits, high = whole ? bf16(first[from.channel_stride]).bits : 0;
    return std::bit_cast<f32>(low | high << 16);
  };
  const auto pack_row = [&](const f32* tap, s64 cell, s64 begin, s64 width) {
    const s64 channel = kernel.pairs ? 2 * cell : cell;
    const f32* first = tap + channel * from.channel_stride;
    for (s64 o = begin; o < begin + width; ++o) {
      const f32* weight = first + o * from.out_stride;
      *to++ = o >= from.outs  ? 0.0f
              : !kernel.pairs ? *weight
                              : pair(weight, channel + 1 < from.channels);
    }
  };
  for (s64 g = 0; g < from.groups; ++g) {
    const f32* group = given.as<f32>().data() + g * from.outs * from.taps * from.channels;
    for (s64 begin = 0; begin < outs; begin += kPanelVectors * lanes) {
      const s64 width = std::min(kPanelVectors * lanes, outs - begin);
      for (s64 c = 0; c < from.taps * cells; ++c)
        pack_row(group + c / cells * from.tap_stride, c % cells, begin, width);
    }
  }
  if (!given_bias) return;
  for (s64 i = 0; i < from.groups * from.outs; ++i)
    bias.mutable_as<f32>()[static_cast<size_t>(i / from.outs * outs + i % from.outs)] =
        given_bias.as<f32>()[static_cast<size_t>(i)];
}

}  // namespace octet
