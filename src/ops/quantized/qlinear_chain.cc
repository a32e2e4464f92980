// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/qlinear_chain.h"

#include "core/check.h"
#include "ops/quantized/quant_axis.h"

namespace octet {
namespace {

ValueId input_at(const NodeParser& parser, size_t i) {
  if (parser.has_input(i)) return parser.node.input(i);
  fail(Error::Code::invalid_model, "{} needs input {}", parser.node.op->name, i);
}

ValueId dequantized(NodeParser& parser, size_t codes) {
  std::vector<ValueId> inputs = {input_at(parser, codes), input_at(parser, codes + 1)};
  if (parser.has_input(codes + 2)) inputs.push_back(parser.node.input(codes + 2));
  return parser.emit_before("DequantizeLinear", std::move(inputs));
}

// An omitted zero point is 0, of the type of the first operand's codes where that is known.
ValueId zero_point(NodeParser& parser, const QLinearChain& chain) {
  if (parser.has_input(chain.output_scale + 1)) return parser.node.input(chain.output_scale + 1);
  const Tensor* operand = parser.constant(chain.operands.at(0) + 2);
  const bool known = operand != nullptr && is_quantized_dtype(operand->dtype());
  return parser.add_constant(Tensor(known ? operand->dtype() : Dtype::u8, Shape{}));
}

}  // namespace

void parse_qlinear_chain(NodeParser& parser, const QLinearChain& chain) {
  std::vector<ValueId> reals;
  for (size_t operand : chain.operands) reals.push_back(dequantized(parser, operand));
  parser.emit_after("QuantizeLinear",
                    {input_at(parser, chain.output_scale), zero_point(parser, chain)});
  parser.node.inputs = std::move(reals);
  parser.become(chain.op);
}

void parse_qlinear_binary(NodeParser& parser, std::string_view op) {
  parse_qlinear_chain(parser, {.op = op, .operands = {0, 3}, .output_scale = 6});
}

void parse_qlinear_unary(NodeParser& parser, std::string_view op) {
  parse_qlinear_chain(parser, {.op = op, .operands = {0}, .output_scale = 3});
}

}  // namespace octet
