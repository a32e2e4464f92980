// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/zero_points.h"

#include <algorithm>
#include <string>

#include "core/check.h"
#include "ops/quantized/epilogue.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

constexpr const char* kInputs = "input_zero_points";

std::vector<s64> stored(const Node& node) { return node.attrs.ints(kInputs, std::vector<s64>{}); }

// Where the type and the range of some codes are written.
struct CodeAttributes {
  const char *dtype, *zero_point, *lo, *hi;
};
constexpr CodeAttributes kOutput = {"output_dtype", "output_zero_point", "lo", "hi"};
constexpr CodeAttributes kSum = {"sum_dtype", "sum_zero_point", "sum_lo", "sum_hi"};

void set_codes(Node& node, const CodeAttributes& names, Dtype dtype, const CodeRange& range) {
  node.attrs.set(names.dtype, std::string(dtype_name(dtype)));
  node.attrs.set(names.zero_point, s64{range.zero_point});
  node.attrs.set(names.lo, s64{range.lo});
  node.attrs.set(names.hi, s64{range.hi});
}

void as_u8(Node& node, const CodeAttributes& names) {
  const CodeRange codes = code_range(Dtype::s8);
  const auto shifted = [&](const char* name, s32 otherwise) {
    return static_cast<s32>(node.attrs.i(name, otherwise)) + kS8ToU8;
  };
  set_codes(
      node, names, Dtype::u8,
      {shifted(names.zero_point, 0), shifted(names.lo, codes.lo), shifted(names.hi, codes.hi)});
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
      fail(Error::Code::invalid_model, "attribute '{}' holds {}", kInputs, zero_point);
    zero_points.push_back(static_cast<s32>(zero_point));
  }
  return zero_points;
}

void set_input_zero_point(Node& node, size_t input, s32 zero_point) {
  std::vector<s64> all = stored(node);
  all.resize(std::max(all.size(), input + 1), 0);
  all[input] = zero_point;
  node.attrs.set(kInputs, std::move(all));
}

void set_input_zero_points(Node& node, std::span<const s32> zero_points) {
  node.attrs.set(kInputs, std::vector<s64>(zero_points.begin(), zero_points.end()));
}

void set_output_codes(Node& node, Dtype dtype, const CodeRange& range) {
  set_codes(node, kOutput, dtype, range);
}

void set_sum_codes(Node& node, Dtype dtype, const CodeRange& range) {
  set_codes(node, kSum, dtype, range);
}

std::optional<s32> output_zero_point(const Node& node) {
  const auto at = [&](const char* name) { return static_cast<s32>(node.attrs.i(name, 0)); };
  if (has_product_input(node, kProductAddend)) return at(kSum.zero_point);
  if (has_product_input(node, kProductTable)) return std::nullopt;
  if (!is_code(dtype_from_name(node.attrs.s(kOutput.dtype, "u8")))) return std::nullopt;
  return at(kOutput.zero_point);
}

void read_as_u8(Node& node, size_t input) {
  set_input_zero_point(node, input, input_zero_point(node, input) + kS8ToU8);
}

void own_codes_as_u8(Node& node) { as_u8(node, kOutput); }

void write_as_u8(Graph& graph, Node& node) {
  if (has_product_input(node, kProductAddend)) return as_u8(node, kSum);
  if (!has_product_input(node, kProductTable)) return own_codes_as_u8(node);
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
