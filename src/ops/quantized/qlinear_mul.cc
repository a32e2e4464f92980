// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearMul, which only ONNX files have: Mul of codes.
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"

namespace octet {

extern constinit const OpDef kQLinearMul = contrib_operator(
    "QLinearMul", {7, 8}, [](NodeParser& parser) { parse_qlinear_binary(parser, "Mul"); });
}  // namespace octet
