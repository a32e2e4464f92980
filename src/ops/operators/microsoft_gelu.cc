// SPDX-License-Identifier: Apache-2.0
// com.microsoft Gelu: the exact one.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parser.become("Gelu"); }

}  // namespace

extern constinit const OpDef kMicrosoftGelu = contrib_operator("com.microsoft/Gelu", {1, 1}, parse);
}  // namespace octet
