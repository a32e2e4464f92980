// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearGlobalAveragePool, which only ONNX files have: the mean of codes over all axes from 2 on.
#include "core/check.h"
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"
#include "ops/shared/reduction.h"
namespace octet {
namespace {

void parse(NodeParser& parser) {
  const bool channels_last = parser.node.attrs.i("channels_last", 0) != 0;
  parser.node.attrs.erase("channels_last");
  if (channels_last) {
    fail(Error::Code::unsupported, "attribute 'channels_last' is 1, expected 0");
  }
  parse_qlinear_unary(parser, "ReduceMean");
  parse_global_pool(parser, "ReduceMean");
}

}  // namespace

extern constinit const OpDef kQLinearGlobalAveragePool =
    contrib_operator("QLinearGlobalAveragePool", {5, 5}, parse);
}  // namespace octet
