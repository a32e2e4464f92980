// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/quantize/quantize.h"

#include <algorithm>

namespace octet {
namespace {

// Pixels and channels that are quantized into a buffer in L1 before they are interleaved.
constexpr s64 kPixels = 256;
constexpr s64 kChannels = 16;

// dst[p * stride + c] = src[c * kPixels + p]
void interleave(const u8* src, s64 channels, s64 pixels, u8* dst, s64 stride) {
  for (s64 p = 0; p < pixels; ++p, dst += stride) {
    for (s64 c = 0; c < channels; ++c) dst[c] = src[c * kPixels + p];
  }
}

}  // namespace

void PlanarQuantize::run(const f32* x, u8* y, ThreadPool& pool) const noexcept {
  const s64 channels = shape[1], height = shape[2], width = shape[3];
  const auto row = [&](s64 n, s64 h) {
    u8 codes[kChannels * kPixels];
    for (s64 w = 0; w < width; w += kPixels) {
      const s64 pixels = std::min(kPixels, width - w);
      for (s64 c = 0; c < channels; c += kChannels) {
        const s64 some = std::min(kChannels, channels - c);
        for (s64 i = 0; i < some; ++i) {
          const f32* src = x + ((n * channels + c + i) * height + h) * width + w;
          kernel->run({src, codes + i * kPixels, pixels, scale, zero_point});
        }
        u8* dst = y + n * output.image_stride + h * output.row_stride + w * output.pixel_stride + c;
        if (channels == 3 && output.pixel_stride == 3) {
          kernel->interleave3({codes, kPixels, dst, pixels});
        } else {
          interleave(codes, some, pixels, dst, output.pixel_stride);
        }
      }
    }
  };
  pool.parallel_for(shape[0] * height, [&](s64 begin, s64 end, int) {
    for (s64 i = begin; i < end; ++i) row(i / height, i % height);
  });
}

}  // namespace octet
