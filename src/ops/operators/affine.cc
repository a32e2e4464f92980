// SPDX-License-Identifier: Apache-2.0
// Affine(x) {alpha, beta}, an experimental operator of early exporters: alpha * x + beta. It is read as Mul and Add; no graph holds
// one.
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Node& node = parser.node;
  const f32 alpha = node.attrs.f("alpha", 1.0f), beta = node.attrs.f("beta", 0.0f);
  node.attrs = {};
  parser.emit_after("Add", {parser.add_constant(Tensor::scalar(beta))});
  parser.set_input(1, Tensor::scalar(alpha));
  parser.become("Mul");
}

}  // namespace

extern constinit const OpDef kAffine{.name = "Affine", .parse = parse};
}  // namespace octet
