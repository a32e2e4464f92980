// SPDX-License-Identifier: Apache-2.0
// com.microsoft FastGelu(x, bias): Gelu by the tanh approximation, of x + bias where there is one.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Node& node = parser.node;
  if (parser.has_input(1)) {
    node.inputs = {parser.emit_before("Add", {parser.required(0), parser.required(1)})};
  }
  node.attrs.set("approximate", "tanh");
  parser.become("Gelu");
}

}  // namespace

extern constinit const OpDef kFastGelu = contrib_operator("FastGelu", {1, 2}, parse);
}  // namespace octet
