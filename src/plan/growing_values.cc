// SPDX-License-Identifier: Apache-2.0
#include "plan/growing_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/attributes/codes.h"
#include "ops/attributes/moves.h"
#include "ops/quantized/code_rows.h"
#include "ops/quantized/zero_points.h"
#include "ops/registry.h"
#include "plan/growing_graph.h"

namespace octet {
namespace {

constexpr std::string_view kLength = "octet.length";

}  // namespace

GrowingValues::GrowingValues(const Graph& from, const GrowingLengths& lengths, s64 added)
    : at_(lengths), added_(added), to_(from) {
  to_.nodes.clear();
  to_.outputs.clear();
  length_ = to_.add_value(kLength, {Dtype::s64, {}});
  to_.inputs.push_back(length_);
}

ValueId GrowingValues::add(const OpDef* op, std::vector<ValueId> inputs, const TensorType& type,
                           Attrs attrs) {
  const ValueId result = to_.add_value(fmt::format("octet.growing.{}", op->name), type);
  Node node;
  node.op = op;
  node.name = to_.value(result).name;
  node.inputs = std::move(inputs);
  node.outputs = {result};
  node.attrs = std::move(attrs);
  to_.nodes.push_back(std::move(node));
  return result;
}

ValueId GrowingValues::constant(Tensor tensor) {
  return to_.add_constant("octet.growing.constant", std::move(tensor));
}

ValueId GrowingValues::operand(ValueId id) {
  if (id == kNoValue) return id;
  if (at_.dependence(id) == Dependence::affine) return affine(id);
  if (at_.is_settled(id) && !to_.value(id).constant) {
    to_.value(id).constant = at_.known(id);
    to_.value(id).type = at_.known(id).type();
  }
  return id;
}

ValueId GrowingValues::size_operand(const Node& node, ValueId id) {
  if (id == kNoValue || at_.dependence(id) == Dependence::data || at_.is_settled(id))
    return operand(id);
  if (!at_.counts(id)) refuse_growing(node, "has sizes that do not grow evenly with the length");
  return constant(at_.known(id));
}

// base + slope * length
ValueId GrowingValues::affine(ValueId id) {
  const auto made = affine_.find(id);
  if (made != affine_.end()) return made->second;
  const std::vector<s64> slopes = at_.slopes(id);
  std::vector<s64> bases = at_.most_ints(id);
  for (size_t i = 0; i < bases.size(); ++i)
    bases[i] = static_cast<s64>(static_cast<u64>(bases[i]) -
                                static_cast<u64>(slopes[i]) * static_cast<u64>(at_.most()));
  const TensorType type{Dtype::s64, at_.type(id).shape};
  const bool plain = std::ranges::all_of(slopes, [](s64 slope) { return slope == 1; });
  const ValueId grown =
      plain ? length_
            : add(find_op("Mul"), {constant(Tensor::of<s64>(type.shape, slopes)), length_}, type);
  ValueId result = add(find_op("Add"), {constant(Tensor::of<s64>(type.shape, bases)), grown}, type);
  if (at_.type(id).dtype == Dtype::s32) {
    Attrs attrs;
    set_attribute<&CastAttributes::to>(attrs, Dtype::s32);
    result = add(find_op("Cast"), {result}, at_.type(id), attrs);
  }
  affine_[id] = result;
  return result;
}

// Which rows of an axis with `behind` axes behind it are in use: [rows, 1, ...].
ValueId GrowingValues::in_use(s64 rows, int behind) {
  const auto made = in_use_.find({rows, behind});
  if (made != in_use_.end()) return made->second;
  if (limit_ == kNoValue)
    limit_ =
        add(find_op("Add"), {constant(Tensor::scalar<s64>(added_)), length_}, {Dtype::s64, {}});
  Shape shape{rows};
  for (int i = 0; i < behind; ++i) shape.push_back(1);
  std::vector<s64> numbers(static_cast<size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), s64{0});
  const ValueId result = add(find_op("Less"), {constant(Tensor::of<s64>(shape, numbers)), limit_},
                             {Dtype::boolean, shape});
  in_use_[{rows, behind}] = result;
  return result;
}

ValueId GrowingValues::filled(ValueId value, const TensorType& type, int axis, Tensor filling) {
  const ValueId used = in_use(type.shape[axis], type.shape.rank() - axis - 1);
  return add(find_op("Where"), {used, value, constant(std::move(filling))}, type);
}

ValueId GrowingValues::dequantized(const Node& node, ValueId codes, const TensorType& type) {
  const s32 zero = input_zero_point(node, 0);
  const Tensor zero_point = type.dtype == Dtype::s8 ? Tensor::scalar(static_cast<s8>(zero))
                                                    : Tensor::scalar(static_cast<u8>(zero));
  return add(find_op("DequantizeLinear"),
             {codes, constant(Tensor::scalar(row_scales(node).x)), constant(zero_point)},
             {Dtype::f32, type.shape});
}

Node GrowingValues::copy_of(const Node& node) {
  Node copied = node;
  for (ValueId& id : copied.inputs) id = operand(id);
  return copied;
}

void GrowingValues::copy(const Node& node) { write(copy_of(node)); }

void GrowingValues::copy_sized(const Node& node) {
  Node copied = node;
  for (size_t i = 0; i < copied.inputs.size(); ++i)
    copied.inputs[i] = i == 0 ? operand(node.inputs[i]) : size_operand(node, node.inputs[i]);
  write(std::move(copied));
}

Graph GrowingValues::finish() {
  remove_dead_nodes(to_);
  return std::move(to_);
}

}  // namespace octet
