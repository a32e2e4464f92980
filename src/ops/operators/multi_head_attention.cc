// SPDX-License-Identifier: Apache-2.0
// com.microsoft MultiHeadAttention(query, key, value, bias, mask of keys, bias of scores, past key, past value): Attention. Without keys and values the query
// holds all three, without values the key holds both, [batch, length, heads, parts, size].
#include "core/check.h"
#include "ops/attributes/moves.h"
#include "ops/shared/contrib.h"
#include "ops/shared/contrib_attention.h"

namespace octet {
namespace {

enum : size_t { kQuery, kKey, kValue, kBias, kMask, kScores, kPastKey, kPastValue };

constexpr s64 kPartAxis = 3;

// Each part as [batch, length, heads * size].
std::vector<ValueId> unpacked(NodeParser& parser, ValueId packed, size_t parts) {
  Attrs axis;
  set_attribute<&AxisAttributes::axis>(axis, kPartAxis);
  const ValueId ones = parser.add_ints(std::vector<s64>(parts, 1));
  std::vector<ValueId> result;
  for (const ValueId part : parser.emit_several("Split", {packed, ones}, parts, std::move(axis))) {
    const ValueId heads = parser.emit_before("Squeeze", {part, parser.add_ints({kPartAxis})});
    result.push_back(parser.emit_before("Reshape", {heads, parser.add_ints({0, 0, -1})}));
  }
  return result;
}

void read_operands(NodeParser& parser, ContribAttention& attention) {
  const ValueId query = parser.required(kQuery);
  if (parser.has_input(kKey) && parser.has_input(kValue)) {
    attention.q = query;
    attention.k = parser.node.input(kKey), attention.v = parser.node.input(kValue);
  } else if (parser.has_input(kKey)) {
    const auto parts = unpacked(parser, parser.node.input(kKey), 2);
    attention.q = query, attention.k = parts[0], attention.v = parts[1];
  } else if (!parser.has_input(kValue)) {
    const auto parts = unpacked(parser, query, 3);
    attention.q = parts[0], attention.k = parts[1], attention.v = parts[2];
  } else {
    fail(Error::Code::invalid_model, "it has a value and no key");
  }
}

void add_biases(NodeParser& parser, ContribAttention& attention) {
  if (!parser.has_input(kBias)) return;
  const TensorType bias = known_input(parser, kBias, "biases").type();
  if (bias.shape.rank() != 1)
    fail(Error::Code::invalid_model, "the bias is {}, expected one axis", to_string(bias));
  // Those of queries and keys are as many as a query has columns, the rest is of values.
  const ValueId size = dimension_of(parser, attention.q, 2);
  const ValueId both = parser.emit_before("Add", {size, size});
  const ValueId none = parser.add_ints({0}), all = parser.add_ints({bias.shape.elements()});
  const auto add = [&](ValueId& to, ValueId begin, ValueId end) {
    const ValueId part = parser.emit_before("Slice", {parser.node.input(kBias), begin, end, none});
    to = parser.emit_before("Add", {to, part});
  };
  add(attention.q, none, size);
  add(attention.k, size, both);
  add(attention.v, both, all);
}

void parse(NodeParser& parser) {
  ContribAttention attention{.shown = parser.node.input(kMask),
                             .bias = parser.node.input(kScores),
                             .past_k = parser.node.input(kPastKey),
                             .past_v = parser.node.input(kPastValue)};
  read_operands(parser, attention);
  add_biases(parser, attention);
  become_attention(parser, attention);
}

}  // namespace

extern constinit const OpDef kMultiHeadAttention =
    contrib_operator("MultiHeadAttention", {1, 8}, parse, {1, 3});
}  // namespace octet
