// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/quantize/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/rounding.h"

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

// Both quotients of the floats around x = boundary * scale lie on the same side of the boundary.
bool agree_around(f32 boundary, f32 scale, f32 reciprocal) {
  constexpr u32 kReach = 8;
  const u32 bits = std::bit_cast<u32>(boundary * scale);
  for (u32 i = bits - kReach; i != bits + kReach + 1; ++i) {
    const f32 x = std::bit_cast<f32>(i);
    const f32 t = x * reciprocal;
    const f32 near = std::fma(std::fma(-t, scale, x), reciprocal, t);
    if (rne(near) != rne(x / scale)) return false;
  }
  return true;
}

}  // namespace

// The near quotient is off by a float or two at most, so codes can only differ where the quotient is that close to a boundary
// between two: those floats are tried. The range of scales keeps all steps from overflow and underflow.
NearQuotient near_quotient(f32 scale, s32 zero_point) {
  if (!(scale > 0x1p-60f && scale < 0x1p60f)) return {};
  const f32 reciprocal = 1.0f / scale;
  for (s32 code = 0; code < 255; ++code) {
    if (!agree_around(static_cast<f32>(code - zero_point) + 0.5f, scale, reciprocal)) return {};
  }
  return {reciprocal, static_cast<f32>(-1 - zero_point) * scale,
          static_cast<f32>(256 - zero_point) * scale};
}

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
          kernel->run({src, codes + i * kPixels, pixels, scale, zero_point, near});
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
