// SPDX-License-Identifier: Apache-2.0
// GlobalMaxPool exists only in ONNX files: it becomes the maximum over all axes from 2 on.
#include "graph/op_def.h"
#include "ops/shared/reduction.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_global_pool(parser, "ReduceMax"); }

}  // namespace

extern constinit const OpDef kGlobalMaxPool{.name = "GlobalMaxPool", .parse = parse};
}  // namespace octet
