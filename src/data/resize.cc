// SPDX-License-Identifier: Apache-2.0
// Two passes, horizontal then vertical, with 8-bit pixels between them. The filter is a triangle as wide as the reduction
// (never narrower than one source pixel), its weights in fixed point with 22 fractional bits: 32 bits less 8 for the pixel
// and 2 for the sign and the overshoot of the sum.
#include "data/resize.h"

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

constexpr int kFractionBits = 22;
constexpr s32 kHalf = 1 << (kFractionBits - 1);

// For each destination index: the first source index, how many, and their weights.
struct Filter {
  size_t max_taps = 0;
  std::vector<size_t> first;
  std::vector<size_t> taps;
  std::vector<s32> weights;  // [dst][max_taps]

  const s32* row(size_t i) const { return weights.data() + i * max_taps; }
};

// The weights of one destination pixel, in f64 and then rounded once; returns how many.
size_t weigh(f64 center, f64 filter_scale, int src_size, size_t* first, s32* weights) {
  const f64 support = filter_scale;
  const int begin = std::max(0, static_cast<int>(center - support + 0.5));
  const int end = std::min(src_size, static_cast<int>(center + support + 0.5));
  // A reciprocal, not a division per tap: the last bit of a weight depends on it.
  const f64 inverse = 1.0 / filter_scale;
  const auto triangle = [&](int i) {
    const f64 distance = std::abs((i - center + 0.5) * inverse);
    return distance < 1.0 ? 1.0 - distance : 0.0;
  };
  f64 sum = 0;
  for (int i = begin; i < end; ++i) sum += triangle(i);
  for (int i = begin; i < end; ++i) {
    const f64 weight = sum != 0 ? triangle(i) / sum : triangle(i);
    weights[i - begin] = static_cast<s32>(0.5 + weight * (1 << kFractionBits));
  }
  *first = static_cast<size_t>(begin);
  return static_cast<size_t>(std::max(0, end - begin));
}

Filter make_filter(int src_size, int dst_size) {
  const f64 scale = static_cast<f64>(src_size) / dst_size;
  const f64 filter_scale = std::max(scale, 1.0);
  Filter filter;
  filter.max_taps = static_cast<size_t>(std::ceil(filter_scale)) * 2 + 1;
  const size_t n = static_cast<size_t>(dst_size);
  filter.first.resize(n);
  filter.taps.resize(n);
  filter.weights.resize(n * filter.max_taps);
  for (size_t i = 0; i < n; ++i) {
    filter.taps[i] = weigh((static_cast<f64>(i) + 0.5) * scale, filter_scale, src_size,
                           &filter.first[i], filter.weights.data() + i * filter.max_taps);
  }
  return filter;
}

u8 to_pixel(s32 sum) { return static_cast<u8>(std::clamp(sum >> kFractionBits, 0, 255)); }

template <int kChannels>
void resize_row(const u8* src, u8* dst, const Filter& filter) {
  for (size_t x = 0; x < filter.first.size(); ++x) {
    s32 sum[3] = {kHalf, kHalf, kHalf};
    const s32* weights = filter.row(x);
    const u8* pixel = src + filter.first[x] * kChannels;
    for (size_t t = 0; t < filter.taps[x]; ++t, pixel += kChannels) {
      for (int c = 0; c < kChannels; ++c) sum[c] += pixel[c] * weights[t];
    }
    for (int c = 0; c < kChannels; ++c) *dst++ = to_pixel(sum[c]);
  }
}

Image resize_width(const Image& src, int width) {
  const Filter filter = make_filter(src.width, width);
  const size_t height = static_cast<size_t>(src.height);
  Image dst{width, src.height, src.channels, {}};
  const size_t src_row = static_cast<size_t>(src.width) * static_cast<size_t>(src.channels);
  const size_t dst_row = static_cast<size_t>(width) * static_cast<size_t>(src.channels);
  dst.pixels.resize(dst_row * height);
  const auto resize = src.channels == 1 ? resize_row<1> : resize_row<3>;
  for (size_t y = 0; y < height; ++y) {
    resize(src.pixels.data() + y * src_row, dst.pixels.data() + y * dst_row, filter);
  }
  return dst;
}

Image resize_height(const Image& src, int height) {
  const Filter filter = make_filter(src.height, height);
  Image dst{src.width, height, src.channels, {}};
  const size_t row = static_cast<size_t>(src.width) * static_cast<size_t>(src.channels);
  dst.pixels.resize(row * static_cast<size_t>(height));
  std::vector<s32> sums(row);
  for (size_t y = 0; y < filter.first.size(); ++y) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (size_t t = 0; t < filter.taps[y]; ++t) {
      const s32 weight = filter.row(y)[t];
      const u8* pixels = src.pixels.data() + (filter.first[y] + t) * row;
      for (size_t i = 0; i < row; ++i) sums[i] += pixels[i] * weight;
    }
    std::transform(sums.begin(), sums.end(), dst.pixels.data() + y * row, to_pixel);
  }
  return dst;
}

}  // namespace

Image resize_bilinear(Image src, int width, int height) {
  if (width == src.width && height == src.height) return src;
  if (width == src.width) return resize_height(src, height);
  Image wide = resize_width(src, width);
  src = {};
  return height == src.height ? wide : resize_height(wide, height);
}

}  // namespace octet
