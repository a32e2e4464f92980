// SPDX-License-Identifier: Apache-2.0
// com.microsoft Trilu: ONNX's.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_as(parser, "Trilu", 14); }

}  // namespace

extern constinit const OpDef kMicrosoftTrilu{
    .name = "com.microsoft/Trilu", .domain = "com.microsoft", .inputs = {1, 2}, .parse = parse};
}  // namespace octet
