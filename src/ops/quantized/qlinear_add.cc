// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearAdd, which only ONNX files have: Add of codes.
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"

namespace octet {

extern constinit const OpDef kQLinearAdd = contrib_operator(
    "QLinearAdd", {7, 8}, [](NodeParser& parser) { parse_qlinear_binary(parser, "Add"); });
}  // namespace octet
