// SPDX-License-Identifier: Apache-2.0
// Scatter is the name that opsets 9 and 10 gave to ScatterElements.
#include "graph/op_def.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parser.become("ScatterElements"); }

}  // namespace

extern constinit const OpDef kScatter{.name = "Scatter", .inputs = {3, 3}, .parse = parse};
}  // namespace octet
