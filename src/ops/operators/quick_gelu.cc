// SPDX-License-Identifier: Apache-2.0
// com.microsoft QuickGelu: x * sigmoid(alpha * x), which ONNX calls Swish.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  attrs.set("alpha", attrs.f("alpha", 1.702f));
  parser.become("Swish");
}

}  // namespace

extern constinit const OpDef kQuickGelu = contrib_operator("QuickGelu", {1, 1}, parse);
}  // namespace octet
