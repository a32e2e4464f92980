// SPDX-License-Identifier: Apache-2.0
// GlobalAveragePool exists only in ONNX files: it becomes the mean over all axes from 2 on.
#include "graph/op_def.h"
#include "ops/shared/reduction.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_global_pool(parser, "ReduceMean"); }

}  // namespace

extern constinit const OpDef kGlobalAveragePool{.name = "GlobalAveragePool", .parse = parse};
}  // namespace octet
