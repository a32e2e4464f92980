// SPDX-License-Identifier: Apache-2.0
// SimplifiedLayerNormalization, which ONNX Runtime's tools write into ONNX's own domain: RMSNormalization.
#include "core/check.h"
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  if (parser.node.outputs.size() > 1)
    fail(Error::Code::unsupported, "output 1 (statistics of training) is read");
  parser.become("RMSNormalization");
}

}  // namespace

extern constinit const OpDef kSimplifiedLayerNormalization{
    .name = "SimplifiedLayerNormalization", .inputs = {2, 2}, .outputs = {1, 2}, .parse = parse};
}  // namespace octet
