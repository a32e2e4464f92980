// SPDX-License-Identifier: Apache-2.0
// What InstanceNormalization and QInstanceNormalization share, and the statistics of the latter: docs/numerics.md section 5.
#pragma once

#include <cmath>

#include "graph/op_def.h"

namespace octet {

// Scale and bias (inputs 1 and 2) are real and hold one value for each channel; else Error(invalid_model).
void check_instance_norm_parameters(const Inference& inference);

// Of the codes of one channel of one image, s8 codes plus 128.
struct CodeMoments {
  s64 count = 0;
  s64 sum = 0;
  s64 squares = 0;
};

struct InstanceNorm {
  f32 scale_x = 1.0f;
  f32 scale_y = 1.0f;
  f32 epsilon = 1e-5f;
};

// t = fma(code, slope, offset): a channel's codes, s8 codes plus 128, to what requantize() takes.
struct CodeLine {
  f32 slope = 0.0f;
  f32 offset = 0.0f;
};

// The squares are moved to the integer next to the mean, exactly, so that nothing cancels in f64.
inline CodeLine code_line(const InstanceNorm& norm, const CodeMoments& m, f32 scale, f32 bias) {
  const s64 near = (m.sum + m.count / 2) / m.count;
  const auto count = static_cast<f64>(m.count);
  const f64 rest = static_cast<f64>(m.sum - m.count * near) / count;
  const s64 squares = m.squares - 2 * near * m.sum + m.count * near * near;
  const f64 variance = static_cast<f64>(squares) / count - rest * rest;
  const f64 scale_x = norm.scale_x, scale_y = norm.scale_y;
  const f64 deviation = std::sqrt(scale_x * scale_x * variance + f64{norm.epsilon});
  const auto slope = static_cast<f32>(f64{scale} * scale_x / (deviation * scale_y));
  const f64 mean = static_cast<f64>(near) + rest;
  return {slope, static_cast<f32>(f64{bias} / scale_y - f64{slope} * mean)};
}

}  // namespace octet
