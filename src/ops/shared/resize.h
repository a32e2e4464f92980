// SPDX-License-Identifier: Apache-2.0
// Resize as data: for each axis, which input elements with which weights make each output element. All modes of ONNX are
// products over the axes, so kernels need nothing else.
#pragma once

#include <span>
#include <vector>

#include "core/types.h"
#include "graph/op_def.h"

namespace octet {

struct ResizeAxis {
  s64 in = 1;
  s64 out = 1;
  bool identity = true;  // index[o] = o with weight 1; the vectors are empty
  s64 taps = 1;
  std::vector<s64> index;   // [out][taps], each inside the input
  std::vector<f32> weight;  // [out][taps]; empty for nearest
  std::vector<u8> outside;  // [out]: 1 where tf_crop_and_resize extrapolates; empty when nowhere
};

struct ResizeGeometry {
  Shape output;
  bool nearest = true;
  f32 extrapolation_value = 0.0f;
  std::vector<ResizeAxis> axes;  // one for each dimension
};

// Inputs of the node besides X; empty where omitted.
struct ResizeParameters {
  std::vector<f32> roi;
  std::vector<f32> scales;
  std::vector<s64> sizes;
};

Shape resize_shape(const Node& node, const Shape& input, const ResizeParameters& parameters);
ResizeGeometry resize_geometry(const Node& node, const Shape& input,
                               const ResizeParameters& parameters);
ResizeParameters resize_parameters(const Eval& eval);

// Nearest without extrapolation: elements move, so it runs on codes as they are. Other modes compute, in f32.
bool resize_moves_elements(const Node& node);

}  // namespace octet
