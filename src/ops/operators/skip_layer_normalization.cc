// SPDX-License-Identifier: Apache-2.0
// com.microsoft SkipLayerNormalization(x, skip, gamma, beta, bias): LayerNormalization of x + skip + bias; the last output is that sum.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

enum : size_t { kX, kSkip, kGamma, kBeta, kBias };

void parse(NodeParser& parser) {
  Node& node = parser.node;
  const ValueId sum = skip_sum(parser, kBias);
  node.inputs = {sum, parser.required(kGamma), node.input(kBeta)};
  node.attrs.set("epsilon", node.attrs.f("epsilon", 1e-12f));
  parser.become("LayerNormalization");
}

}  // namespace

extern constinit const OpDef kSkipLayerNormalization =
    contrib_operator("SkipLayerNormalization", {3, 5}, parse, {1, 4});
}  // namespace octet
