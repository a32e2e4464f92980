// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearConcat, which only ONNX files have: Concat of codes.
#include "core/check.h"
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"
namespace octet {
namespace {

// Inputs: scale and zero point of the output, then codes, scale and zero point of each operand.
void parse(NodeParser& parser) {
  const size_t count = parser.node.inputs.size();
  if (count < 5 || count % 3 != 2) {
    fail(Error::Code::invalid_model,
         "QLinearConcat has {} inputs, expected 2 and 3 for each operand", count);
  }
  QLinearChain chain{.op = "Concat", .operands = {}, .output_scale = 0};
  for (size_t i = 2; i < count; i += 3) chain.operands.push_back(i);
  parse_qlinear_chain(parser, chain);
}

}  // namespace

extern constinit const OpDef kQLinearConcat = contrib_operator("QLinearConcat", {5, -1}, parse);
}  // namespace octet
