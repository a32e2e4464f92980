// SPDX-License-Identifier: Apache-2.0
// Upsample of opsets 7 to 9 is read as Resize; no graph holds one.
#include <string>

#include "core/check.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Node& node = parser.node;
  if (parser.opset < 7) {
    fail(Error::Code::unsupported,
         "Upsample of opset {} is not supported; convert the model to opset 9", parser.opset);
  }
  if (node.attrs.has("scales")) {  // opset 7
    const std::vector<f32> scales = node.attrs.floats("scales", {});
    node.attrs.erase("scales");
    parser.set_input(1, Tensor::of<f32>(Shape{std::ssize(scales)}, scales));
  }
  node.inputs.resize(2, kNoValue);
  node.inputs.insert(node.inputs.begin() + 1, kNoValue);
  const std::string mode = node.attrs.s("mode", "nearest");
  node.attrs.set("mode", mode == "bilinear" ? std::string("linear") : mode);
  node.attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
  node.attrs.set("nearest_mode", std::string("floor"));
  parser.become("Resize");
}

}  // namespace

extern constinit const OpDef kUpsample{.name = "Upsample", .inputs = {1, 2}, .parse = parse};
}  // namespace octet
