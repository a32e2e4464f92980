// SPDX-License-Identifier: Apache-2.0
// The fixed arithmetic of layer, instance, group and RMS normalization (docs/numerics.md section 7): every backend that
// runs one in f32 follows these steps to the bit.
#pragma once

#include <cmath>

#include "core/reduce.h"
#include "core/types.h"

namespace octet {

struct Moments {
  f32 mean = 0.0f;
  f32 inverse_std = 1.0f;
};

// mean = sum(x) / n; variance = sum((x - mean)^2) / n; inverse_std = 1 / sqrt(variance + epsilon).
inline Moments moments(const f32* x, s64 count, f32 epsilon) {
  const f32 n = static_cast<f32>(count);
  const f32 mean = lane_sum(count, [&](s64 i) { return x[i]; }) / n;
  const f32 squares = lane_sum(count, [&](s64 i) { return (x[i] - mean) * (x[i] - mean); });
  return {mean, 1.0f / std::sqrt(squares / n + epsilon)};
}

// Without subtracting a mean.
inline f32 inverse_rms(const f32* x, s64 count, f32 epsilon) {
  const f32 squares = lane_sum(count, [&](s64 i) { return x[i] * x[i]; });
  return 1.0f / std::sqrt(squares / static_cast<f32>(count) + epsilon);
}

// ((x - mean) * inverse_std) * scale + bias, four roundings.
inline f32 normalize(f32 x, const Moments& moments, f32 scale, f32 bias) {
  return (x - moments.mean) * moments.inverse_std * scale + bias;
}

}  // namespace octet
