// SPDX-License-Identifier: Apache-2.0
// Sum exists only in ONNX files: it becomes a chain of Adds from left to right.
#include "graph/op_def.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  drop_consumed_inputs(parser);
  const std::vector<ValueId> terms = parser.node.inputs;
  if (terms.size() < 2) return parser.become("Identity");
  ValueId sum = terms[0];
  for (size_t i = 1; i + 1 < terms.size(); ++i) sum = parser.emit_before("Add", {sum, terms[i]});
  parser.node.inputs = {sum, terms.back()};
  parser.become("Add");
}

}  // namespace

extern constinit const OpDef kSum{.name = "Sum", .inputs = {1, -1}, .parse = parse};
}  // namespace octet
