// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/embed_layer_norm.h"

#include <utility>

#include "ops/attributes/codes.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/reduction.h"

namespace octet {
namespace {

enum : size_t { kEmbedLengths = 1, kEmbedSum };

// One dimension of the words, [1].
ValueId dimension(NodeParser& parser, const EmbeddedTokens& tokens, s64 axis) {
  Attrs one;
  set_attribute<&ShapeAttributes::start>(one, axis);
  set_attribute<&ShapeAttributes::end>(one, axis + 1);
  return parser.emit_before("Shape", {tokens.words}, std::move(one));
}

ValueId one_axis(NodeParser& parser, s64 axis) {
  return parser.add_constant(Tensor::of<s64>(Shape{1}, std::vector<s64>{axis}));
}

// Rows 0, 1, .. of the table, as many as the words of an image; one that has not so many is refused by Gather.
ValueId first_rows(NodeParser& parser, const EmbeddedTokens& tokens) {
  const ValueId zero = parser.add_constant(Tensor::scalar<s64>(0)),
                one = parser.add_constant(Tensor::scalar<s64>(1));
  const ValueId end = parser.emit_before("Squeeze", {dimension(parser, tokens, 1)});
  return parser.emit_before("Gather",
                            {tokens.position_table, parser.emit_before("Range", {zero, end, one})});
}

void give_lengths(NodeParser& parser, const EmbeddedTokens& tokens) {
  Attrs attrs;
  if (tokens.shown == kNoValue) {
    const std::vector<s32> none{0};
    set_attribute<&ConstantOfShapeAttributes::value>(attrs, Tensor::of<s32>(Shape{1}, none));
    parser.give(kEmbedLengths, "ConstantOfShape", {dimension(parser, tokens, 0)}, std::move(attrs));
    return;
  }
  set_attribute<&ReduceAttributes::keepdims>(attrs, false);
  Attrs whole;
  set_attribute<&CastAttributes::to>(whole, Dtype::s32);
  const ValueId one = parser.add_constant(Tensor::scalar<s32>(1));
  const ValueId is_shown = parser.emit_before("Equal", {tokens.shown, one});
  const ValueId counted = parser.emit_before("Cast", {is_shown}, std::move(whole));
  parser.give(kEmbedLengths, "ReduceSum", {counted, one_axis(parser, 1)}, std::move(attrs));
}

}  // namespace

void become_embedding(NodeParser& parser, const EmbeddedTokens& tokens) {
  Node& node = parser.node;
  ValueId sum = parser.emit_before("Gather", {tokens.word_table, tokens.words});
  const ValueId positions =
      tokens.positions == kNoValue
          ? first_rows(parser, tokens)
          : parser.emit_before("Gather", {tokens.position_table, tokens.positions});
  sum = parser.emit_before("Add", {sum, positions});
  if (tokens.segments != kNoValue) {
    const ValueId segments = parser.emit_before("Gather", {tokens.segment_table, tokens.segments});
    sum = parser.emit_before("Add", {sum, segments});
  }
  give_lengths(parser, tokens);
  parser.give(kEmbedSum, "Identity", {sum});
  const f32 epsilon = node.attrs.f("epsilon", 1e-12f);
  node.attrs = {};
  node.attrs.set("epsilon", epsilon);
  node.inputs = {sum, tokens.gamma, tokens.beta};
  node.outputs.resize(1);
  parser.become("LayerNormalization");
}

}  // namespace octet
