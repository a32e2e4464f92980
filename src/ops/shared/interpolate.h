// SPDX-License-Identifier: Apache-2.0
// What Resize, Interpolate and QInterpolate share: the shape that scales or sizes ask for, and sums of weighted neighbours along one
// axis after the other.
#pragma once

#include <span>
#include <vector>

#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/shared/resize.h"

namespace octet {

// Inputs X, roi, scales, sizes. Throws NeedsData where scales or sizes are not known yet.
Shape resized_shape(const Inference& inference);

// Axis by axis, first to last; each sum begins at zero and goes from the first tap to the last.
std::vector<f32> interpolate(const ResizeGeometry& geometry, Shape shape, std::vector<f32> values);

// Elements of any number type as reals, and back: integers are rounded to the nearest, ties to even, and end at their type's
// bounds, as ONNX's definition in Python has it.
std::vector<f32> read_numbers(const ConstView& view);
void store_numbers(const MutableView& view, std::span<const f32> values);

f64 resize_work(const Node& node, TensorTypes inputs, TensorTypes outputs);

}  // namespace octet
