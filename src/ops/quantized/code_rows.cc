// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/code_rows.h"

#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/rounding.h"
#include "ops/attributes/normalization.h"
#include "ops/attributes/reduction.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/quantize_node.h"

namespace octet {

RowScales row_scales(const Node& node) {
  const std::vector<f32> scales = attribute_of<&CodeScalesAttributes::scales>(node);
  if (scales.size() != 2) {
    fail(Error::Code::invalid_model, "attribute 'scales' has {} values, expected 2", scales.size());
  }
  for (f32 scale : scales) {
    if (std::isnormal(scale) && scale > 0.0f) continue;
    fail(Error::Code::invalid_model, "attribute 'scales' holds {}, expected positive numbers",
         scale);
  }
  return {scales[0], scales[1]};
}

bool rows_lie_last(const Graph& graph, const Node& node) {
  const auto [axis, flatten] = attributes_of<SoftmaxAttributes>(node);
  if (node.inputs.size() > 1 || flatten) return true;
  const Shape& shape = graph.value(node.inputs[0]).type.shape;
  return axis == -1 || shape.is_unknown() || axis == shape.rank() - 1;
}

QuantizeResult code_rows_node(const QuantizeRequest& request, std::string_view op) {
  if (request.node.outputs.size() != 1) return reject("it has more than one output");
  QuantizeResult result = code_node(request, op, 1);
  if (!result.reject.empty()) return result;
  Node& node = result.node;
  node.inputs.insert(node.inputs.end(), request.node.inputs.begin() + 1, request.node.inputs.end());
  copy_attributes<SoftmaxAttributes>(request.node.attrs, node.attrs);
  copy_attributes<RowNormAttributes>(request.node.attrs, node.attrs);
  set_attribute<&CodeScalesAttributes::scales>(
      node.attrs, {request.inputs[0].scalar_scale(), request.output.scale});
  set_zero_points(node, request, {0});
  return result;
}

void infer_code_rows(Inference& inference, bool reals) {
  const TensorType& x = inference.inputs[0];
  if (!is_code(x.dtype) && !(reals && x.dtype == Dtype::f32)) {
    fail(Error::Code::invalid_model, "input is {}, expected u8 or s8", to_string(x));
  }
  row_scales(inference.node);
  infer_code_output(inference, x.shape);
}

std::vector<f32> dequantized_rows(const Eval& eval) {
  const f32 scale = row_scales(eval.node).x;
  const s32 zero_point = epilogue_of(eval.node).zero_point(0);
  if (eval.inputs[0].dtype == Dtype::f32) {
    const auto x = eval.inputs[0].as<f32>();
    return {x.begin(), x.end()};
  }
  std::vector<f32> reals(static_cast<size_t>(eval.inputs[0].shape.elements()));
  for (size_t i = 0; i < reals.size(); ++i)
    reals[i] = dequantize(code_at(eval.inputs[0], i), scale, zero_point);
  return reals;
}

void store_quantized_rows(const Eval& eval, const std::vector<f32>& reals) {
  const f32 scale = row_scales(eval.node).y;
  const CodeRange range = epilogue_of(eval.node).range;
  for (size_t i = 0; i < reals.size(); ++i) {
    const s32 code = quantize(reals[i], scale, range.zero_point, range.lo, range.hi);
    store_code(eval.outputs[0], i, code);
  }
}

}  // namespace octet
