// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/rows.h"

#include "backends/cuda/lower/codes.h"
#include "ops/quantized/code_rows.h"
#include "ops/quantized/epilogue.h"

namespace octet::cuda {

RowValues row_values(const LowerRequest& request) {
  const Dtype x = request.inputs[0].dtype, y = request.outputs[0].dtype;
  RowValues values{.x_codes = is_code(x),
                   .x_signed = false,
                   .x_scale = {},
                   .x_zero_point = 0,
                   .x_real = Number::f32,
                   .sum = {},
                   .y_codes = is_code(y),
                   .y = {},
                   .y_real = Number::f32,
                   .codes_too = false,
                   .rounded = Number::f32};
  if (!is_code(y)) return values;
  const Epilogue epilogue = epilogue_of(request.node);
  const RowScales scales = row_scales(request.node);
  values.x_signed = x == Dtype::s8;
  values.x_scale = bits_of(scales.x);
  values.x_zero_point = epilogue.zero_point(0);
  values.y = {.scale = bits_of(scales.y),
              .reciprocal = bits_of(reciprocal_of(scales.y)),
              .zero_point = epilogue.range.zero_point,
              .lo = epilogue.range.lo,
              .hi = epilogue.range.hi};
  return values;
}

}  // namespace octet::cuda
