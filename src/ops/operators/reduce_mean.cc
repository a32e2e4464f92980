// SPDX-License-Identifier: Apache-2.0
// ReduceMean: the sum of the elements, then one division by their number.
#include <algorithm>

#include "graph/op_def.h"
#include "ops/attributes/reduction.h"
#include "ops/quantized/quantize_node.h"
#include "ops/shared/axes.h"
#include "ops/shared/reduction.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_reduction(eval, []<class T>(std::span<const T> row) {
    using W = Wide<T>;
    const W sum = row_sum<T>(row, [](auto x) { return x; });
    if constexpr (std::is_integral_v<W>) {
      if (row.empty()) return W{0};
    }
    return static_cast<W>(sum / static_cast<W>(row.size()));
  });
}

// The constant axes of the node as non-negative numbers, all when there are none; or a reason.
std::string constant_axes(const QuantizeRequest& request, std::vector<s64>& axes) {
  const Node& node = request.node;
  const int rank = request.graph.value(request.inputs[0].codes).type.shape.rank();
  if (node.input(1) != kNoValue) {
    const Tensor* given = request.graph.constant_input(node, 1);
    if (given == nullptr || given->dtype() != Dtype::s64) return "the axes are not constant";
    for (int axis : normalize_axes(given->as<s64>(), rank)) axes.push_back(axis);
  }
  if (!axes.empty()) return {};
  if (attribute_of<&ReduceAttributes::noop_with_empty_axes>(node)) return "no axis is reduced";
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return {};
}

QuantizeResult quantize_mean(const QuantizeRequest& request) {
  QuantizeResult result = code_node(request, "QReduceMean", 1);
  if (!result.reject.empty()) return result;
  std::vector<s64> axes;
  result.reject = constant_axes(request, axes);
  std::sort(axes.begin(), axes.end());
  Attrs& attrs = result.node.attrs;
  set_attribute<&QReduceMeanAttributes::axes>(attrs, std::move(axes));
  set_attribute<&QReduceMeanAttributes::keepdims>(
      attrs, attribute_of<&ReduceAttributes::keepdims>(request.node));
  set_attribute<&CodeScalesAttributes::scales>(
      attrs, {request.inputs[0].scalar_scale(), request.output.scale});
  return result;
}

}  // namespace

extern constinit const OpDef kReduceMean{
    .name = "ReduceMean",
    .inputs = {1, 2},
    .parse = parse_reduction,
    .infer = infer_reduction,
    .eval = eval,
    .quant = {.kind = QuantKind::arithmetic, .quantize = quantize_mean}};
}  // namespace octet
