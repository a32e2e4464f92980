// SPDX-License-Identifier: Apache-2.0
// ScaledTanh(x) {alpha, beta}, an experimental operator of early exporters: alpha * tanh(beta * x). It is read as Mul, Tanh, Mul; no
// graph holds one.
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Node& node = parser.node;
  const f32 alpha = node.attrs.f("alpha", 1.0f), beta = node.attrs.f("beta", 1.0f);
  node.attrs = {};
  const ValueId x = parser.required(0);
  node.inputs[0] = parser.emit_before("Mul", {x, parser.add_constant(Tensor::scalar(beta))});
  parser.emit_after("Mul", {parser.add_constant(Tensor::scalar(alpha))});
  parser.become("Tanh");
}

}  // namespace

extern constinit const OpDef kScaledTanh{.name = "ScaledTanh", .parse = parse};
}  // namespace octet
