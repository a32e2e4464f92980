// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/activation.h"

#include "core/check.h"
#include "ops/attributes/activation.h"
#include "ops/shared/node_parser.h"

namespace octet {

Activation activation_of(const Node& node) {
  const auto attributes = attributes_of<ActivationAttributes>(node);
  Activation activation;
  activation.kind = attributes.activation;
  if (activation.kind == Activation::Kind::relu) {
    activation.min = 0.0f;
  } else if (activation.kind == Activation::Kind::clip) {
    activation.min = attributes.activation_min;
    activation.max = attributes.activation_max;
  } else if (activation.kind == Activation::Kind::leaky_relu) {
    activation.alpha = attributes.activation_alpha;
  }
  return activation;
}

void refuse_fused_form(const NodeParser& parser, size_t onnx_inputs) {
  const Node& node = parser.node;
  if (node.inputs.size() > onnx_inputs) {
    fail(Error::Code::invalid_model, "{} needs at most {} inputs, has {}", node.op->name,
         onnx_inputs, node.inputs.size());
  }
  if (has_attribute<&ActivationAttributes::activation>(node)) {
    fail(Error::Code::invalid_model,
         "{} has the attribute 'activation', which ONNX does not define", node.op->name);
  }
}

}  // namespace octet
