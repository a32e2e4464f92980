// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearSigmoid, which only ONNX files have: Sigmoid of codes.
#include "ops/quantized/qlinear_chain.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_qlinear_unary(parser, "Sigmoid"); }

}  // namespace

extern constinit const OpDef kQLinearSigmoid{
    .name = "QLinearSigmoid", .domain = "com.microsoft", .inputs = {4, 5}, .parse = parse};
}  // namespace octet
