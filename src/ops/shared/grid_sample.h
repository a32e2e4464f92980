// SPDX-License-Identifier: Apache-2.0
// GridSample, one axis at a time: which elements of the input, with which weights, a position of the grid stands for.
#pragma once

#include <array>
#include <cmath>

#include "core/rounding.h"
#include "core/types.h"
#include "graph/graph.h"
#include "ops/attributes/sampling.h"

namespace octet {

inline constexpr int kMostGridTaps = 4;
inline constexpr f32 kFarthestGridPosition =
    1 << 24;  // positions beyond are as far outside as this one

// Mirrors at the borders until x lies between them.
f32 grid_reflected(f32 x, f32 low, f32 high);

// One axis: which elements with which weights; index -1 is outside.
struct GridTaps {
  int count = 1;
  std::array<s64, kMostGridTaps> index{};
  std::array<f32, kMostGridTaps> weight{1.0f};
};

class GridAxis {
 public:
  GridAxis(const GridSampleAttributes& sampling, s64 size)
      : sampling_(sampling),
        size_(static_cast<f32>(size)),
        low_(sampling.align_corners ? 0.0f : -0.5f),
        high_(sampling.align_corners ? size_ - 1.0f : size_ - 0.5f) {}

  GridTaps taps(f32 normalized) const {
    const f32 x = padded(position(normalized));
    GridTaps taps;
    const f32 floor = std::floor(x);
    if (sampling_.mode == GridMode::nearest) {
      taps.index[0] = index(x);
    } else if (sampling_.mode == GridMode::linear) {
      taps.count = 2;
      taps.weight = {1.0f - (x - floor), x - floor, 0.0f, 0.0f};
    } else {
      taps.count = kMostGridTaps;
      taps.weight = cubic(x - floor);
    }
    if (sampling_.mode == GridMode::nearest) return taps;
    const f32 first = sampling_.mode == GridMode::cubic ? floor - 1.0f : floor;
    for (int i = 0; i < taps.count; ++i) {
      taps.index[static_cast<size_t>(i)] = index(first + static_cast<f32>(i));
    }
    return taps;
  }

 private:
  f32 position(f32 normalized) const {
    f32 x = sampling_.align_corners ? (normalized + 1.0f) / 2.0f * (size_ - 1.0f)
                                    : ((normalized + 1.0f) * size_ - 1.0f) / 2.0f;
    x = clamp_f32(x, -kFarthestGridPosition, size_ + kFarthestGridPosition);
    return sampling_.mode == GridMode::nearest ? std::nearbyint(x) : x;
  }

  f32 padded(f32 x) const {
    if (sampling_.padding_mode == GridPadding::zeros || (x >= low_ && x <= high_)) return x;
    // Of a cubic each element is the nearest inside, not the position: PyTorch and ONNX Runtime have it so.
    if (sampling_.mode == GridMode::cubic && sampling_.padding_mode == GridPadding::border)
      return x;
    if (sampling_.padding_mode == GridPadding::border) return clamp_f32(x, 0.0f, size_ - 1.0f);
    return grid_reflected(x, low_, high_);
  }

  // Of a whole number.
  s64 index(f32 x) const {
    if (sampling_.padding_mode == GridPadding::zeros && !(x >= 0.0f && x < size_)) return -1;
    if (sampling_.padding_mode == GridPadding::reflection) x = grid_reflected(x, low_, high_);
    return static_cast<s64>(clamp_f32(x, 0.0f, size_ - 1.0f));
  }

  static std::array<f32, kMostGridTaps> cubic(f32 x) {
    constexpr f32 kA = -0.75f;
    const auto near = [](f32 d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
    const auto far = [](f32 d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
    return {far(x + 1), near(x), near(1 - x), far(2 - x)};
  }

  GridSampleAttributes sampling_;
  f32 size_, low_, high_;
};

}  // namespace octet
