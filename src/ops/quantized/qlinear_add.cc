// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearAdd, which only ONNX files have: Add of codes.
#include "ops/quantized/qlinear_chain.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_qlinear_binary(parser, "Add"); }

}  // namespace

extern constinit const OpDef kQLinearAdd{
    .name = "QLinearAdd", .domain = "com.microsoft", .inputs = {7, 8}, .parse = parse};
}  // namespace octet
