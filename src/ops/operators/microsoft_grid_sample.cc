// SPDX-License-Identifier: Apache-2.0
// com.microsoft GridSample: ONNX's, as opset 16 has it.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_as(parser, "GridSample", 16); }

}  // namespace

extern constinit const OpDef kMicrosoftGridSample =
    contrib_operator("com.microsoft/GridSample", {2, 2}, parse);
}  // namespace octet
