// SPDX-License-Identifier: Apache-2.0
// MeanVarianceNormalization exists only in ONNX files: (x - mean) / (sqrt(mean of (x - mean)^2) + 1e-9) over attribute axes.
#include <string>

#include "core/check.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Node& node = parser.node;
  const std::vector<s64> axes = node.attrs.ints("axes", {0, 2, 3});
  node.attrs.erase("axes");
  const ValueId over = parser.add_ints(axes);
  const ValueId x = parser.required(0);
  const ValueId mean = parser.emit_before("ReduceMean", {x, over});
  const ValueId centered = parser.emit_before("Sub", {x, mean});
  const ValueId squares = parser.emit_before("Mul", {centered, centered});
  const ValueId variance = parser.emit_before("ReduceMean", {squares, over});
  const ValueId deviation = parser.emit_before("Sqrt", {variance});
  const ValueId least = parser.add_constant(Tensor::scalar<f32>(1e-9f));
  const ValueId typed = parser.emit_before("CastLike", {least, x});
  node.inputs = {centered, parser.emit_before("Add", {deviation, typed})};
  parser.become("Div");
}

}  // namespace

extern constinit const OpDef kMeanVarianceNormalization{.name = "MeanVarianceNormalization",
                                                        .parse = parse};
}  // namespace octet
