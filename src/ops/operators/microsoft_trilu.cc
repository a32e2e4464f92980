// SPDX-License-Identifier: Apache-2.0
// com.microsoft Trilu: ONNX's.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_as(parser, "Trilu", 14); }

}  // namespace

extern constinit const OpDef kMicrosoftTrilu =
    contrib_operator("com.microsoft/Trilu", {1, 2}, parse);
}  // namespace octet
