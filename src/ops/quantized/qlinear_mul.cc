// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearMul, which only ONNX files have: Mul of codes.
#include "ops/quantized/qlinear_chain.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_qlinear_binary(parser, "Mul"); }

}  // namespace

extern constinit const OpDef kQLinearMul{
    .name = "QLinearMul", .domain = "com.microsoft", .inputs = {7, 8}, .parse = parse};
}  // namespace octet
