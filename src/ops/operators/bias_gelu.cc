// SPDX-License-Identifier: Apache-2.0
// com.microsoft BiasGelu(x, bias): the exact Gelu of x + bias.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Node& node = parser.node;
  node.inputs = {parser.emit_before("Add", {parser.required(0), parser.required(1)})};
  parser.become("Gelu");
}

}  // namespace

extern constinit const OpDef kBiasGelu = contrib_operator("BiasGelu", {2, 2}, parse);
}  // namespace octet
