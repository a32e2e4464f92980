// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearSigmoid, which only ONNX files have: Sigmoid of codes.
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"

namespace octet {

extern constinit const OpDef kQLinearSigmoid = contrib_operator(
    "QLinearSigmoid", {4, 5}, [](NodeParser& parser) { parse_qlinear_unary(parser, "Sigmoid"); });
}  // namespace octet
