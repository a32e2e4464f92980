// SPDX-License-Identifier: Apache-2.0
// com.microsoft SkipSimplifiedLayerNormalization(x, skip, gamma, bias): RMSNormalization of x + skip + bias; the last output is that sum.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

enum : size_t { kX, kSkip, kGamma, kBias };

void parse(NodeParser& parser) {
  Node& node = parser.node;
  const ValueId sum = skip_sum(parser, kBias);
  node.inputs = {sum, parser.required(kGamma)};
  node.attrs.set("epsilon", node.attrs.f("epsilon", 1e-12f));
  parser.become("RMSNormalization");
}

}  // namespace

extern constinit const OpDef kSkipSimplifiedLayerNormalization{
    .name = "SkipSimplifiedLayerNormalization",
    .domain = "com.microsoft",
    .inputs = {3, 4},
    .outputs = {1, 4},
    .parse = parse};
}  // namespace octet
