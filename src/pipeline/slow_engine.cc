// SPDX-License-Identifier: Apache-2.0
#include "pipeline/slow_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "graph/graph_edit.h"
#include "graph/node_types.h"
#include "graph/op_traits.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"

namespace octet {
namespace {

// Nanoseconds of one core with AVX-512, as measured; ratios are what matters.
constexpr f64 kRealProduct = 0.0125, kIntegerProduct = 0.003, kReferenceProduct = 3.5;
constexpr f64 kConversion = 0.1, kWideConversion = 0.25, kReferenceConversion = 10.0;
constexpr f64 kWorthSaying = 1.3;  // estimates are no closer

struct Tally {
  f64 nanoseconds = 0.0, in_float = 0.0;
  s64 products = 0, real_products = 0, reference_conversions = 0;
  std::string first_product, first_conversion;
};

bool all_known(const std::vector<TensorType>& types) {
  for (const TensorType& type : types) {
    if (type.shape.is_unknown() || !type.shape.is_static()) return false;
  }
  return true;
}

Dtype codes_of(const Graph& graph, const Node& node) {
  return graph.value(is_quantize(node) ? node.outputs[0] : node.inputs[0]).type.dtype;
}

bool is_wide(Dtype codes) { return codes == Dtype::u16 || codes == Dtype::s16; }

// Why no kernel converts; empty: one does.
std::string left_to_reference(const Graph& graph, const Node& node) {
  const Dtype dtype = codes_of(graph, node);
  const bool wide = is_wide(dtype);
  if (!is_code(dtype) && !wide)
    return fmt::format("its codes are {}, not of 8 or 16 bits", dtype_name(dtype));
  if (attribute_of<&ScaleAttributes::block_size>(node) != 0) return "it has a scale for each block";
  const Tensor* scale = graph.constant_input(node, 1);
  if (scale == nullptr) return "its scale is not constant";
  if (wide && scale->elements() != 1) return "its 16-bit codes have a scale for each channel";
  return {};
}

void count_conversion(const Graph& graph, const Node& node, Tally& tally) {
  if (graph.is_constant(node.inputs[0])) return;
  const std::string why = left_to_reference(graph, node);
  const f64 kernel = is_wide(codes_of(graph, node)) ? kWideConversion : kConversion;
  tally.nanoseconds += element_count(graph.value(node.outputs[0]).type.shape) *
                       (why.empty() ? kernel : kReferenceConversion);
  if (why.empty()) return;
  if (tally.reference_conversions++ == 0)
    tally.first_conversion = fmt::format("{}: {}", describe(node), why);
}

// ONNX's own integer operators, which no kernel takes as they stand.
bool is_integer_product(const Node& node) {
  return node.op->traits->parse_again && node.op->traits->macs != nullptr;
}

void count_product(const Node& node, f64 macs, Tally& tally) {
  const bool integer = node.op->traits->product_epilogue;
  const bool reference = is_integer_product(node);
  ++tally.products;
  tally.in_float += macs * kRealProduct;
  tally.nanoseconds += macs * (integer     ? kIntegerProduct
                               : reference ? kReferenceProduct
                                           : kRealProduct);
  if (integer || tally.real_products++ != 0) return;
  tally.first_product = fmt::format(
      "{}: {}", describe(node),
      reference ? "no kernel multiplies its codes (weights or zero points of the run, or sums of "
                  "groups or batches beyond 24 bits), the scalar reference does"
                : node.decision.reason);
}

std::string advice(const Tally& tally) {
  std::string text = fmt::format(
      "the model's own codes make the engine slower than FP32 would be, by an estimate {:.1f} "
      "times: "
      "{} of {} convolutions and matrix products are INT8",
      tally.nanoseconds / tally.in_float, tally.products - tally.real_products, tally.products);
  if (tally.real_products > 0) text += fmt::format("; first outside, {}", tally.first_product);
  if (tally.reference_conversions > 0)
    text += fmt::format("; {} conversions run on the scalar reference, first {}",
                        tally.reference_conversions, tally.first_conversion);
  return text + "; build from the model without Q/DQ nodes, with calibration data or in FP32";
}

}  // namespace

bool has_integer_products(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, is_integer_product);
}

std::optional<std::string> slower_than_float(const Graph& graph) {
  Tally tally;
  for (const Node& node : graph.nodes) {
    const auto inputs = types_of(graph, node.inputs), outputs = types_of(graph, node.outputs);
    if (is_quantize(node) || is_dequantize(node)) {
      if (!all_known(outputs)) return {};
      count_conversion(graph, node, tally);
    } else if (node.op->traits->macs != nullptr) {
      if (!all_known(inputs) || !all_known(outputs)) return {};
      count_product(node, static_cast<f64>(count_macs(node, inputs, outputs)), tally);
    }
  }
  if (tally.nanoseconds <= kWorthSaying * tally.in_float) return {};
  return advice(tally);
}

}  // namespace octet
