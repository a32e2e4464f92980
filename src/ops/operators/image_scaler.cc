// SPDX-License-Identifier: Apache-2.0
// ImageScaler(x) {scale, bias}, an experimental operator of early exporters: x * scale + bias[channel] of images. It is read as Mul
// and Add; no graph holds one.
#include "core/check.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Node& node = parser.node;
  const f32 scale = node.attrs.f("scale", 1.0f);
  const std::vector<f32> bias = node.attrs.floats("bias", {});
  if (bias.empty()) {
    fail(Error::Code::invalid_model, "attribute 'bias' is missing, expected a value a channel");
  }
  node.attrs = {};
  const Shape shape{std::ssize(bias), 1, 1};
  parser.emit_after("Add", {parser.add_constant(Tensor::of<f32>(shape, bias))});
  parser.set_input(1, Tensor::scalar(scale));
  parser.become("Mul");
}

}  // namespace

extern constinit const OpDef kImageScaler{.name = "ImageScaler", .parse = parse};
}  // namespace octet
