// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/contrib.h"

#include "core/check.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/moves.h"
#include "ops/registry.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

constexpr size_t kSumOutput = 3;

f32 at_or(std::span<const f32> values, size_t i, f32 otherwise) {
  return i < values.size() ? values[i] : otherwise;
}

}  // namespace

void parse_as(NodeParser& parser, std::string_view op, int opset) {
  parser.become(op);
  if (parser.node.op->parse == nullptr) return;
  NodeParser standard = parser.at_opset(opset);
  parser.node.op->parse(standard);
}

ValueId typed_scalar(NodeParser& parser, f32 number, ValueId like) {
  const ValueId scalar = parser.add_constant(Tensor::scalar<f32>(number));
  return parser.emit_before("CastLike", {scalar, like});
}

ValueId dimension_of(NodeParser& parser, ValueId id, s64 axis) {
  Attrs one;
  set_attribute<&ShapeAttributes::start>(one, axis);
  set_attribute<&ShapeAttributes::end>(one, axis + 1);
  return parser.emit_before("Shape", {id}, std::move(one));
}

ValueId numbers_below(NodeParser& parser, ValueId end) {
  const ValueId zero = parser.add_constant(Tensor::scalar<s64>(0)),
                one = parser.add_constant(Tensor::scalar<s64>(1));
  return parser.emit_before("Range", {zero, parser.emit_before("Squeeze", {end}), one});
}

const Tensor& known_input(const NodeParser& parser, size_t i, const char* what) {
  if (const Tensor* tensor = parser.constant(i)) return *tensor;
  parser.required(i);
  fail(Error::Code::unsupported, "the {} are computed, expected constants", what);
}

const Tensor& known_reals(const NodeParser& parser, size_t i, const char* what) {
  const Tensor& tensor = known_input(parser, i, what);
  bool real = false;
  visit_dtype(tensor.dtype(), [&]<class T>() { real = kIsReal<T>; });
  if (real) return tensor;
  fail(Error::Code::invalid_model, "the {} are {}, expected real numbers", what,
       to_string(tensor.type()));
}

void emit_activation(NodeParser& parser, std::string_view name, std::span<const f32> parameters) {
  Attrs attrs;
  std::vector<ValueId> bounds;
  if (name.empty()) return;
  if (name == "LeakyRelu") {
    attrs.set("alpha", at_or(parameters, 0, 0.01f));
  } else if (name == "HardSigmoid") {
    attrs.set("alpha", at_or(parameters, 0, 0.2f));
    attrs.set("beta", at_or(parameters, 1, 0.5f));
  } else if (name == "Clip") {
    if (parameters.size() != 2)
      fail(Error::Code::invalid_model, "activation Clip has {} parameters, expected 2",
           parameters.size());
    for (const f32 bound : parameters)
      bounds.push_back(parser.add_constant(Tensor::scalar<f32>(bound)));
  } else if (name != "Relu" && name != "Tanh" && name != "Sigmoid") {
    fail(Error::Code::unsupported,
         "activation '{}' is not known, expected Relu, Tanh, Sigmoid, LeakyRelu, HardSigmoid or "
         "Clip",
         name);
  }
  parser.emit_after(name, std::move(bounds), std::move(attrs));
}

void parse_scaled_product(NodeParser& parser, const ScaledProduct& product) {
  constexpr int kOpset = 10;  // MatMulInteger has one version
  Attrs real;
  set_attribute<&CastAttributes::to>(real, Dtype::f32);
  const ValueId scale = parser.emit_before("Mul", {product.a_scale, product.b_scale});
  parser.node.inputs = {product.a, product.b, product.a_zero, product.b_zero};
  parse_as(parser, "MatMulInteger", kOpset);
  parser.emit_after("Cast", {}, std::move(real));
  parser.emit_after("Mul", {scale});
  if (product.bias != kNoValue) parser.emit_after("Add", {product.bias});
}

ValueId skip_sum(NodeParser& parser, size_t bias) {
  const Node& node = parser.node;
  ValueId sum = parser.required(0);
  const ValueId skip = parser.required(1);
  if (parser.has_input(bias)) sum = parser.emit_before("Add", {sum, node.input(bias)});
  sum = parser.emit_before("Add", {sum, skip});
  parser.give(kSumOutput, "Identity", {sum});
  for (size_t i = 1; i < kSumOutput && i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    fail(Error::Code::unsupported, "output {} (statistics of training) is read", i);
  }
  parser.node.outputs.resize(1);
  return sum;
}

}  // namespace octet
