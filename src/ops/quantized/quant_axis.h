// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of QuantizeLinear and DequantizeLinear: one, one for each index along an axis,
// or one for each block of indices.
#pragma once

#include "core/types.h"
#include "graph/op_def.h"

namespace octet {

// Which scale an element uses. With `block` > 0 the scales have the shape of the data, but one for each `block` indices along
// the axis.
struct QuantAxis {
  s64 count = 1;
  s64 inner = 1;
  s64 block = 0;

  s64 of(s64 element) const {
    const s64 index = element / inner % count;
    if (block == 0) return index;
    const s64 blocks = (count - 1) / block + 1;
    return (element / inner / count * blocks + index / block) * inner + element % inner;
  }
};

// Throws Error when scale (input 1) and zero point (input 2, may be omitted) do not fit the data (input 0).
QuantAxis quant_axis(const Node& node, const Shape& data, const Shape& scale);
void check_quant_inputs(const Inference& inference);
// Throws Error(invalid_model) unless every scale is a positive finite number.
void check_scale_values(const Tensor& scale);

// u8, s8, u16 and s16: what a code may be.
bool is_quantized_dtype(Dtype dtype);
// 4-bit and 2-bit integers, float8 and float4: what else it may be. e8m0 is a type of scales.
bool is_small_code_dtype(Dtype dtype);

}  // namespace octet
