// SPDX-License-Identifier: Apache-2.0
// ONNX's QLinearConv and QLinearMatMul. With constant scales, zero points and weights they are read as QConv and QMatMul;
// otherwise they run as they are, with the same arithmetic.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "ops/quantized/epilogue.h"

namespace octet {

class NodeParser;

// Both operators have these inputs: x, its scale and zero point, the same of the weights, then scale and zero point of y.
enum QLinearInput : size_t {
  kQlX,
  kQlXScale,
  kQlXZeroPoint,
  kQlWeights,
  kQlWeightScale,
  kQlWeightZeroPoint,
  kQlYScale,
  kQlYZeroPoint,
  kQlBias,
};

// Becomes `op` (QConv, QMatMul) when scales and zero points are constant.
void parse_qlinear(NodeParser& parser, std::string_view op);

// Checks all but the shapes of the operands and outputs codes of this shape. `channels`: how many weight scales there may be.
void infer_qlinear(Inference& inference, const Shape& output, s64 channels);

// Finishes accumulators of the general form.
class QLinearEpilogue {
 public:
  explicit QLinearEpilogue(const Eval& eval);
  void store(s64 index, s64 channel, s32 acc) const;

 private:
  std::vector<f32> multipliers_;
  ConstView bias_;
  Epilogue epilogue_;
  MutableView output_;
};

}  // namespace octet
