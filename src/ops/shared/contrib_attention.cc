// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/contrib_attention.h"

#include <utility>

#include "core/check.h"
#include "ops/attributes/attention.h"
#include "ops/attributes/moves.h"
#include "ops/shared/contrib.h"

namespace octet {
namespace {

constexpr s64 kParts = 3;
constexpr f32 kHiddenScore = -10000.0f;  // ONNX Runtime's default of `mask_filter_value`

ValueId axes(NodeParser& parser, const std::vector<s64>& list) {
  return parser.add_constant(Tensor::of<s64>(Shape{static_cast<s64>(list.size())}, list));
}

// What hidden keys are added, [batch, 1, 1, keys]. ONNX Runtime also takes lengths [batch] here and masks of three axes: nothing tells them apart before
// shapes are known, so the Transpose that keeps two axes in their order refuses them then.
ValueId hidden_scores(NodeParser& parser, ValueId shown, f32 hidden, ValueId like) {
  Attrs two_axes;
  set_attribute<&TransposeAttributes::perm>(two_axes, std::vector<s64>{0, 1});
  const ValueId mask = parser.emit_before("Transpose", {shown}, std::move(two_axes));
  const ValueId none =
      parser.emit_before("CastLike", {parser.add_constant(Tensor::scalar<s64>(0)), mask});
  const ValueId seen = parser.emit_before("Greater", {mask, none});
  const ValueId scores = parser.emit_before(
      "Where", {seen, typed_scalar(parser, 0.0f, like), typed_scalar(parser, hidden, like)});
  return parser.emit_before("Unsqueeze", {scores, axes(parser, {1, 2})});
}

ValueId mask_of(NodeParser& parser, const ContribAttention& attention, f32 hidden) {
  if (attention.shown == kNoValue) return attention.bias;
  const ValueId scores = hidden_scores(parser, attention.shown, hidden, attention.q);
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

std::vector<ValueId> parts_of_three(NodeParser& parser, size_t i, const std::vector<s64>& sizes) {
  const ValueId whole = parser.node.input(i);
  if (whole == kNoValue) return std::vector<ValueId>(kParts, kNoValue);
  const TensorType type = known_input(parser, i, "weights or biases").type();
  if (type.shape.elements() == 1) return std::vector<ValueId>(kParts, whole);
  const s64 columns = type.shape.rank() == 0 ? 0 : type.shape[type.shape.rank() - 1];
  std::vector<s64> each = sizes;
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
  return parser.emit_several("Split", {whole, axes(parser, each)}, kParts, std::move(last));
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
