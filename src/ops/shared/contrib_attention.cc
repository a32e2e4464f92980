// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/contrib_attention.h"

#include <utility>

#include "core/check.h"
#include "ops/attributes/attention.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/moves.h"
#include "ops/shared/contrib.h"

namespace octet {
namespace {

constexpr s64 kParts = 3;
constexpr f32 kHiddenScore = -10000.0f;  // ONNX Runtime's default of `mask_filter_value`

// How many keys there are with those of the past, [1].
ValueId key_count(NodeParser& parser, const ContribAttention& attention) {
  const ValueId keys = dimension_of(parser, attention.k, 1);
  if (attention.past_k == kNoValue) return keys;
  return parser.emit_before("Add", {keys, dimension_of(parser, attention.past_k, 2)});
}

// Which keys are seen, [batch, keys]. The mask, s32, has a number for each key or, with one axis, says how many keys each image has; which, only shapes tell.
ValueId seen_keys(NodeParser& parser, const ContribAttention& attention) {
  const ValueId keys = key_count(parser, attention), one = parser.add_ints({1});
  const ValueId rank =
      parser.emit_before("Shape", {parser.emit_before("Shape", {attention.shown})});
  const ValueId are_lengths = parser.emit_before("Equal", {rank, one});
  const ValueId columns = parser.emit_before("Where", {are_lengths, one, keys});
  Attrs first;
  set_attribute<&ConcatAttributes::axis>(first, 0);
  const ValueId shape =
      parser.emit_before("Concat", {parser.add_ints({0}), columns}, std::move(first));
  const ValueId mask = parser.emit_before("Reshape", {attention.shown, shape});
  Attrs to;
  set_attribute<&CastAttributes::to>(to, Dtype::s32);
  const ValueId places = parser.emit_before("Cast", {numbers_below(parser, keys)}, std::move(to));
  const ValueId before_end = parser.emit_before("Less", {places, mask});
  const ValueId none = parser.add_constant(Tensor::scalar<s32>(0));
  const ValueId shown = parser.emit_before("Greater", {mask, none});
  return parser.emit_before("Where", {are_lengths, before_end, shown});
}

// What hidden keys are added, [batch, 1, 1, keys].
ValueId hidden_scores(NodeParser& parser, const ContribAttention& attention, f32 hidden) {
  const ValueId seen = seen_keys(parser, attention);
  const ValueId scores = parser.emit_before("Where", {seen, typed_scalar(parser, 0.0f, attention.q),
                                                      typed_scalar(parser, hidden, attention.q)});
  return parser.emit_before("Unsqueeze", {scores, parser.add_ints({1, 2})});
}

ValueId mask_of(NodeParser& parser, const ContribAttention& attention, f32 hidden) {
  if (attention.shown == kNoValue) return attention.bias;
  const ValueId scores = hidden_scores(parser, attention, hidden);
  if (attention.bias == kNoValue) return scores;
  return parser.emit_before("Add", {attention.bias, scores});
}

}  // namespace

void become_attention(NodeParser& parser, const ContribAttention& attention) {
  const Attrs given = std::exchange(parser.node.attrs, {});
  const s64 heads = given.i("num_heads");
  const f32 scale = given.f("scale", 0.0f);  // 0: the usual one
  Attrs& attrs = parser.node.attrs;
  set_attribute<&HeadsAttributes::q_num_heads>(attrs, heads);
  set_attribute<&HeadsAttributes::kv_num_heads>(attrs, heads);
  if (scale != 0.0f) set_attribute<&AttentionAttributes::scale>(attrs, scale);
  if (given.i("unidirectional", 0) != 0)
    set_attribute<&AttentionAttributes::is_causal>(attrs, true);
  const f32 hidden = given.f("mask_filter_value", kHiddenScore);
  const ValueId mask = mask_of(parser, attention, hidden);
  parser.node.inputs = {attention.q, attention.k,      attention.v,
                        mask,        attention.past_k, attention.past_v};
  while (parser.node.inputs.back() == kNoValue) parser.node.inputs.pop_back();
  parser.become("Attention");
}

std::vector<ValueId> parts_of_three(NodeParser& parser, size_t i, const Columns& columns_of) {
  const ValueId whole = parser.node.input(i);
  if (whole == kNoValue) return std::vector<ValueId>(kParts, kNoValue);
  const TensorType type = known_input(parser, i, "weights or biases").type();
  if (columns_of.shared && type.shape.elements() == 1) return std::vector<ValueId>(kParts, whole);
  if (type.shape.rank() != columns_of.rank)
    fail(Error::Code::invalid_model, "input {} is {}, expected {} axes", i, to_string(type),
         columns_of.rank);
  const s64 columns = type.shape[columns_of.rank - 1];
  std::vector<s64> each = columns_of.sizes;
  if (each.empty()) each.assign(kParts, columns / kParts);
  s64 sum = 0;
  bool positive = std::ssize(each) == kParts;
  for (const s64 size : each) {
    positive = positive && size > 0 && size <= columns;
    sum += positive ? size : 0;
  }
  if (!positive || sum != columns) {
    fail(Error::Code::invalid_model,
         "{} columns of weights or biases are not those of queries, keys and values", columns);
  }
  Attrs last;
  set_attribute<&AxisAttributes::axis>(last, -1);
  return parser.emit_several("Split", {whole, parser.add_ints(each)}, kParts, std::move(last));
}

std::vector<s64> take_hidden_sizes(NodeParser& parser) {
  std::vector<s64> sizes = parser.node.attrs.ints("qkv_hidden_sizes", {});
  parser.node.attrs.erase("qkv_hidden_sizes");
  return sizes;
}

void refuse_shared_past(const NodeParser& parser, size_t past) {
  if (parser.has_input(past))
    fail(
        Error::Code::unsupported,
        "input {} (past keys and values in one tensor) is not read; MultiHeadAttention with a past "
        "key and a past value is",
        past);
  if (parser.node.outputs.size() > 1 && parser.node.outputs[1] != kNoValue)
    fail(Error::Code::unsupported,
         "output 1 (present keys and values in one tensor) is not written");
  if (parser.node.attrs.i("do_rotary", 0) != 0)
    fail(Error::Code::unsupported,
         "attribute 'do_rotary' is not 0: positions that turn are not read here");
}

}  // namespace octet
