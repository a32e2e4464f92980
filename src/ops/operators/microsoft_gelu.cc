// SPDX-License-Identifier: Apache-2.0
// com.microsoft Gelu: the exact one.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parser.become("Gelu"); }

}  // namespace

extern constinit const OpDef kMicrosoftGelu{
    .name = "com.microsoft/Gelu", .domain = "com.microsoft", .parse = parse};
}  // namespace octet
