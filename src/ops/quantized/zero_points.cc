// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/zero_points.h"

#include <algorithm>
#include <string>

#include "core/check.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

std::vector<s64> stored(const Node& node) {
  return attribute_of<&EpilogueAttributes::input_zero_points>(node);
}

// The range of s8 codes, as that of the u8 codes of the same reals.
CodeRange as_u8(s64 zero_point, std::optional<s64> lo, std::optional<s64> hi) {
  const CodeRange codes = code_range(Dtype::s8);
  return {static_cast<s32>(zero_point) + kS8ToU8, static_cast<s32>(lo.value_or(codes.lo)) + kS8ToU8,
          static_cast<s32>(hi.value_or(codes.hi)) + kS8ToU8};
}

bool has_product_input(const Node& node, IntegerProductInput input) {
  return node.op->traits->product_epilogue && node.input(input) != kNoValue;
}

// The parameters of an input are not those that the node reads it with.
bool contradicts(const Graph& graph, const Node& node, size_t input) {
  const ValueId id = node.inputs[input];
  return id != kNoValue && graph.value(id).quant && is_code(graph.value(id).type.dtype) &&
         graph.value(id).quant->zero_point != input_zero_point(node, input);
}

// A table of segments whose codes are s8, as that of u8 codes.
Tensor segments_as_u8(const Tensor& table) {
  Tensor result(Dtype::s32, table.shape());
  std::ranges::transform(table.as<s32>(), result.mutable_as<s32>().begin(), [](s32 segment) {
    return fine_segment(fine_base(segment) + kS8ToU8 * kFineUnit, fine_slope(segment));
  });
  return result;
}

void refuse(const Graph& graph, const Node& node, ValueId id, s32 said) {
  const Value& value = graph.value(id);
  fail(Error::Code::invalid_model,
       "value '{}' has zero point {}, and {} takes it for {}; build the engine again", value.name,
       value.quant->zero_point, describe(node), said);
}

}  // namespace

s32 input_zero_point(const Node& node, size_t input) {
  const std::vector<s64> all = stored(node);
  return input < all.size() ? static_cast<s32>(all[input]) : 0;
}

std::vector<s32> input_zero_points(const Node& node) {
  std::vector<s32> zero_points;
  for (s64 zero_point : stored(node)) {
    if (zero_point < code_range(Dtype::s8).lo || zero_point > code_range(Dtype::u8).hi)
      fail(Error::Code::invalid_model, "attribute 'input_zero_points' holds {}", zero_point);
    zero_points.push_back(static_cast<s32>(zero_point));
  }
  return zero_points;
}

void set_input_zero_point(Node& node, size_t input, s32 zero_point) {
  std::vector<s64> all = stored(node);
  all.resize(std::max(all.size(), input + 1), 0);
  all[input] = zero_point;
  set_attribute<&EpilogueAttributes::input_zero_points>(node.attrs, std::move(all));
}

void set_input_zero_points(Node& node, std::span<const s32> zero_points) {
  set_attribute<&EpilogueAttributes::input_zero_points>(node.attrs,
                                                        {zero_points.begin(), zero_points.end()});
}

void set_output_codes(Node& node, Dtype dtype, const CodeRange& range) {
  set_attribute<&OutputCodesAttributes::output_dtype>(node.attrs, dtype);
  set_attribute<&OutputCodesAttributes::output_zero_point>(node.attrs, range.zero_point);
  set_attribute<&OutputCodesAttributes::lo>(node.attrs, range.lo);
  set_attribute<&OutputCodesAttributes::hi>(node.attrs, range.hi);
}

void set_sum_codes(Node& node, Dtype dtype, const CodeRange& range) {
  set_attribute<&SumAttributes::sum_dtype>(node.attrs, dtype);
  set_attribute<&SumAttributes::sum_zero_point>(node.attrs, range.zero_point);
  set_attribute<&SumAttributes::sum_lo>(node.attrs, range.lo);
  set_attribute<&SumAttributes::sum_hi>(node.attrs, range.hi);
}

std::optional<s32> output_zero_point(const Node& node) {
  if (has_product_input(node, kProductAddend))
    return static_cast<s32>(attribute_of<&SumAttributes::sum_zero_point>(node));
  if (has_product_input(node, kProductTable) && !has_fine_table(node)) return std::nullopt;
  const auto codes = attributes_of<OutputCodesAttributes>(node);
  if (!is_code(codes.output_dtype)) return std::nullopt;
  return static_cast<s32>(codes.output_zero_point);
}

void read_as_u8(Node& node, size_t input) {
  set_input_zero_point(node, input, input_zero_point(node, input) + kS8ToU8);
}

bool has_fine_table(const Node& node) {
  return node.op->traits->product_epilogue &&
         attribute_of<&EpilogueAttributes::fine_zero_point>(node).has_value();
}

void own_codes_as_u8(Graph& graph, Node& node) {
  if (has_fine_table(node)) {
    ValueId& table = node.inputs[kProductTable];
    table = graph.add_constant(graph.value(table).name + ".u8",
                               segments_as_u8(graph.value(table).constant));
  }
  const auto codes = attributes_of<OutputCodesAttributes>(node);
  set_output_codes(node, Dtype::u8, as_u8(codes.output_zero_point, codes.lo, codes.hi));
}

void write_as_u8(Graph& graph, Node& node) {
  if (has_product_input(node, kProductAddend)) {
    const auto sum = attributes_of<SumAttributes>(node);
    return set_sum_codes(node, Dtype::u8, as_u8(sum.sum_zero_point, sum.sum_lo, sum.sum_hi));
  }
  if (!has_product_input(node, kProductTable) || has_fine_table(node))
    return own_codes_as_u8(graph, node);
  ValueId& table = node.inputs[kProductTable];
  table =
      graph.add_constant(graph.value(table).name + ".u8", codes_as_u8(graph.value(table).constant));
}

Tensor codes_as_u8(const Tensor& codes) {
  Tensor result(Dtype::u8, codes.shape());
  std::ranges::transform(codes.as<s8>(), result.mutable_as<u8>().begin(),
                         [](s8 code) { return static_cast<u8>(code + kS8ToU8); });
  return result;
}

void forget_contradicted(Graph& graph, const Node& node) {
  if (node.op->traits->codes != CodeMeaning::attributes) return;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (contradicts(graph, node, i)) graph.value(node.inputs[i]).quant.reset();
  }
}

void verify_zero_points(const Graph& graph, const Node& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (contradicts(graph, node, i)) refuse(graph, node, node.inputs[i], input_zero_point(node, i));
  }
  const ValueId result = node.outputs[0];
  const std::optional<s32> own = output_zero_point(node);
  if (!own || result == kNoValue || !graph.value(result).quant) return;
  if (*own != graph.value(result).quant->zero_point) refuse(graph, node, result, *own);
}

}  // namespace octet
