// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearLeakyRelu, which only ONNX files have: LeakyRelu of codes.
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"

namespace octet {

extern constinit const OpDef kQLinearLeakyRelu =
    contrib_operator("QLinearLeakyRelu", {4, 5},
                     [](NodeParser& parser) { parse_qlinear_unary(parser, "LeakyRelu"); });
}  // namespace octet
