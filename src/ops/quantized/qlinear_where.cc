// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearWhere(condition, x, its scale and zero point, the same of y, scale and zero point of z): Where of codes.
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"

namespace octet {
namespace {

enum : size_t { kCondition, kX, kY = 4, kOutputScale = 7 };

void parse(NodeParser& parser) {
  const ValueId condition = parser.required(kCondition);
  parse_qlinear_chain(parser, {.op = "Where", .operands = {kX, kY}, .output_scale = kOutputScale});
  parser.node.inputs.insert(parser.node.inputs.begin(), condition);
}

}  // namespace

extern constinit const OpDef kQLinearWhere = contrib_operator("QLinearWhere", {9, 9}, parse);
}  // namespace octet
