// SPDX-License-Identifier: Apache-2.0
// com.microsoft Attention(x, weights, bias, mask, past, bias of scores): queries, keys and values of x in one product, then Attention.
#include "ops/shared/contrib.h"
#include "ops/shared/contrib_attention.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias, kMask, kPast, kScores };

void parse(NodeParser& parser) {
  const ValueId x = parser.required(kX);
  refuse_shared_past(parser, kPast);
  const std::vector<s64> sizes = take_hidden_sizes(parser);
  parser.required(kWeights);
  const auto weights = parts_of_three(parser, kWeights, {.rank = 2, .sizes = sizes});
  const auto biases = parts_of_three(parser, kBias, {.sizes = sizes});
  const auto product = [&](size_t part) {
    const ValueId y = parser.emit_before("MatMul", {x, weights[part]});
    return biases[part] == kNoValue ? y : parser.emit_before("Add", {y, biases[part]});
  };
  become_attention(parser, {.q = product(0),
                            .k = product(1),
                            .v = product(2),
                            .shown = parser.node.input(kMask),
                            .bias = parser.node.input(kScores)});
  parser.node.outputs.resize(1);
}

}  // namespace

extern constinit const OpDef kMicrosoftAttention =
    contrib_operator("com.microsoft/Attention", {2, 7}, parse, {1, 2});
}  // namespace octet
