// SPDX-License-Identifier: Apache-2.0
// CastLike(x, like): x in the element type of `like`, whose elements are never read.
#include "graph/op_def.h"
#include "ops/shared/convert.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) { parse_small_rounding(parser.node.attrs); }

void infer(Inference& inference) {
  inference.output(inference.inputs[1].dtype, inference.inputs[0].shape);
}

void eval(const Eval& eval) {
  convert_elements(eval.inputs[0], eval.outputs[0], small_rounding(eval.node.attrs));
}

}  // namespace

extern constinit const OpDef kCastLike{
    .name = "CastLike", .inputs = {2, 2}, .parse = parse, .infer = infer, .eval = eval};
}  // namespace octet
