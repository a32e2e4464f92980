// SPDX-License-Identifier: Apache-2.0
// com.microsoft QuantizeLinear, which quantizers write for 16-bit and 4-bit codes below opset 21: ONNX's own.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

constexpr int kOpset = 21;  // the first with those codes

void parse(NodeParser& parser) { parse_as(parser, "QuantizeLinear", kOpset); }

}  // namespace

extern constinit const OpDef kMicrosoftQuantizeLinear =
    contrib_operator("com.microsoft/QuantizeLinear", {2, 3}, parse);
}  // namespace octet
