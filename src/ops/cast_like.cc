// SPDX-License-Identifier: Apache-2.0
// CastLike(x, like): x in the element type of `like`, whose elements are never read.
#include "graph/op_def.h"
#include "ops/convert.h"
#include "ops/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  // These two matter for 8-bit floats only.
  parser.node.attrs.erase("saturate");
  parser.node.attrs.erase("round_mode");
}

void infer(Inference& inference) {
  inference.output(inference.inputs[1].dtype, inference.inputs[0].shape);
}

void eval(const Eval& eval) { convert_elements(eval.inputs[0], eval.outputs[0]); }

}  // namespace

extern constinit const OpDef kCastLike{.name = "CastLike",
                                       .domain = "",
                                       .inputs = {2, 2},
                                       .outputs = {1, 1},
                                       .parse = parse,
                                       .infer = infer,
                                       .eval = eval};
}  // namespace octet
