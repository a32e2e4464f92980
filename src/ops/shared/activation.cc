// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/activation.h"

#include <string>

#include "core/check.h"
#include "ops/shared/node_parser.h"

namespace octet {

Activation activation_of(const Node& node) {
  const std::string name = node.attrs.s("activation", "");
  Activation activation;
  if (name.empty()) return activation;
  if (name == "relu") {
    activation.kind = Activation::Kind::relu;
    activation.min = 0.0f;
  } else if (name == "clip") {
    activation.kind = Activation::Kind::clip;
    activation.min = node.attrs.f("activation_min", activation.min);
    activation.max = node.attrs.f("activation_max", activation.max);
  } else if (name == "leaky_relu") {
    activation.kind = Activation::Kind::leaky_relu;
    activation.alpha = node.attrs.f("activation_alpha", 0.01f);
  } else {
    fail(Error::Code::invalid_model,
         "attribute 'activation' is '{}', expected '', relu, clip or leaky_relu", name);
  }
  return activation;
}

void refuse_fused_form(const NodeParser& parser, size_t onnx_inputs) {
  const Node& node = parser.node;
  if (node.inputs.size() > onnx_inputs) {
    fail(Error::Code::invalid_model, "{} needs at most {} inputs, has {}", node.op->name,
         onnx_inputs, node.inputs.size());
  }
  if (node.attrs.has("activation")) {
    fail(Error::Code::invalid_model,
         "{} has the attribute 'activation', which ONNX does not define", node.op->name);
  }
}

}  // namespace octet
