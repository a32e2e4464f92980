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

extern constinit const OpDef kSkipSimplifiedLayerNormalization =
    contrib_operator("SkipSimplifiedLayerNormalization", {3, 4}, parse, {1, 4});
}  // namespace octet
