// SPDX-License-Identifier: Apache-2.0
// SwiGLU(a, b) exists only in ONNX files: it is Swish(a) * b.
#include "core/check.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Attrs swish;
  if (parser.node.attrs.has("alpha")) swish.set("alpha", parser.node.attrs.f("alpha", 1.0f));
  parser.node.attrs.erase("alpha");
  const ValueId x = parser.required(0);
  parser.node.inputs[0] = parser.emit_before("Swish", {x}, swish);
  parser.become("Mul");
}

}  // namespace

extern constinit const OpDef kSwiGLU{.name = "SwiGLU", .inputs = {2, 2}, .parse = parse};
}  // namespace octet
