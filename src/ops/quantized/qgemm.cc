// SPDX-License-Identifier: Apache-2.0
// com.microsoft QGemm, which only ONNX files have: Gemm of codes with an s32 bias; without a scale of y the result is real.
#include "core/check.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/products.h"
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

enum : size_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kC, kYScale, kYZero };

ValueId dequantized(NodeParser& parser, size_t codes, s64 axis) {
  std::vector<ValueId> inputs = {parser.node.input(codes), parser.node.input(codes + 1)};
  if (parser.has_input(codes + 2)) inputs.push_back(parser.node.input(codes + 2));
  Attrs attrs;
  set_attribute<&ScaleAttributes::axis>(attrs, axis);
  return parser.emit_before("DequantizeLinear", std::move(inputs), std::move(attrs));
}

// The bias has the scale of the accumulators.
ValueId real_bias(NodeParser& parser) {
  const Tensor& a = known_reals(parser, kAScale, "scales of a");
  const Tensor& b = known_reals(parser, kBScale, "scales of b");
  if (a.elements() != 1) {
    fail(Error::Code::unsupported, "the scale of a is {}, expected one number",
         to_string(a.type()));
  }
  const FloatInput a_scale(view(a)), b_scale(view(b));
  Tensor scale(Dtype::f32, b.shape());
  const auto dst = scale.mutable_as<f32>();
  for (size_t i = 0; i < dst.size(); ++i) dst[i] = a_scale[0] * b_scale[static_cast<s64>(i)];
  Attrs attrs;
  set_attribute<&ScaleAttributes::axis>(attrs, -1);
  return parser.emit_before("DequantizeLinear",
                            {parser.node.input(kC), parser.add_constant(std::move(scale))},
                            std::move(attrs));
}

void parse(NodeParser& parser) {
  const bool transposed = attribute_of<&GemmAttributes::transB>(parser.node);
  std::vector<ValueId> inputs = {dequantized(parser, kA, 1),
                                 dequantized(parser, kB, transposed ? 0 : 1)};
  if (parser.has_input(kC)) inputs.push_back(real_bias(parser));
  if (parser.has_input(kYScale)) {
    const Tensor* zero = parser.constant(kAZero);
    const Dtype dtype = zero == nullptr ? Dtype::u8 : zero->dtype();
    const ValueId y_zero = parser.has_input(kYZero) ? parser.node.input(kYZero)
                                                    : parser.add_constant(Tensor(dtype, Shape{}));
    parser.emit_after("QuantizeLinear", {parser.node.input(kYScale), y_zero});
  }
  parser.node.inputs = std::move(inputs);
  parser.become("Gemm");
}

}  // namespace

extern constinit const OpDef kQGemm = contrib_operator("QGemm", {6, 9}, parse);
}  // namespace octet
