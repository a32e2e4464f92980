// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/embed_layer_norm.h"

#include <utility>

#include "ops/attributes/codes.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/reduction.h"
#include "ops/shared/contrib.h"

namespace octet {
namespace {

enum : size_t { kEmbedLengths = 1, kEmbedSum };

void give_lengths(NodeParser& parser) {
  Attrs attrs;
  if (!parser.has_input(kEmbedMask)) {
    const std::vector<s32> none{0};
    set_attribute<&ConstantOfShapeAttributes::value>(attrs, Tensor::of<s32>(Shape{1}, none));
    const ValueId images = dimension_of(parser, parser.required(kEmbedWords), 0);
    return parser.give(kEmbedLengths, "ConstantOfShape", {images}, std::move(attrs));
  }
  set_attribute<&ReduceAttributes::keepdims>(attrs, false);
  Attrs whole;
  set_attribute<&CastAttributes::to>(whole, Dtype::s32);
  const ValueId one = parser.add_constant(Tensor::scalar<s32>(1));
  const ValueId shown = parser.emit_before("Equal", {parser.node.input(kEmbedMask), one});
  const ValueId counted = parser.emit_before("Cast", {shown}, std::move(whole));
  parser.give(kEmbedLengths, "ReduceSum", {counted, parser.add_ints({1})}, std::move(attrs));
}

}  // namespace

void become_embedding(NodeParser& parser, ValueId (*real)(NodeParser&, size_t), ValueId positions) {
  Node& node = parser.node;
  const ValueId words = parser.required(kEmbedWords);
  // A table that has not so many rows is refused by Gather.
  if (positions == kNoValue) positions = numbers_below(parser, dimension_of(parser, words, 1));
  const ValueId gamma = real(parser, kEmbedGamma), beta = real(parser, kEmbedBeta);
  const auto picked = [&](size_t table, ValueId rows) {
    return parser.emit_before("Gather", {real(parser, table), rows});
  };
  ValueId sum = picked(kEmbedWordTable, words);
  sum = parser.emit_before("Add", {sum, picked(kEmbedPositionTable, positions)});
  if (parser.has_input(kEmbedSegments))
    sum = parser.emit_before("Add", {sum, picked(kEmbedSegmentTable, node.input(kEmbedSegments))});
  give_lengths(parser);
  parser.give(kEmbedSum, "Identity", {sum});
  const f32 epsilon = node.attrs.f("epsilon", 1e-12f);
  node.attrs = {};
  node.attrs.set("epsilon", epsilon);
  node.inputs = {sum, gamma, beta};
  node.outputs.resize(1);
  parser.become("LayerNormalization");
}

}  // namespace octet
