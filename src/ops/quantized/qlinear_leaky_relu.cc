// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearLeakyRelu, which only ONNX files have: LeakyRelu of codes.
#include "ops/quantized/qlinear_chain.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_qlinear_unary(parser, "LeakyRelu"); }

}  // namespace

extern constinit const OpDef kQLinearLeakyRelu{
    .name = "QLinearLeakyRelu", .domain = "com.microsoft", .inputs = {4, 5}, .parse = parse};
}  // namespace octet
