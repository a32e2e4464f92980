// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearAveragePool, which only ONNX files have: AveragePool of codes.
#include "core/check.h"
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  if (parser.node.attrs.i("channels_last", 0) != 0)
    fail(Error::Code::unsupported, "attribute 'channels_last' is 1, expected 0");
  parser.node.attrs.erase("channels_last");
  parse_qlinear_unary(parser, "AveragePool");
}

}  // namespace

extern constinit const OpDef kQLinearAveragePool =
    contrib_operator("QLinearAveragePool", {4, 5}, parse);
}  // namespace octet
