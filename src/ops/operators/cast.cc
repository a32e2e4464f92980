// SPDX-License-Identifier: Apache-2.0
// Cast(x) {to}: x in another element type. In the canonical form `to` is the type's name ("f32"), in ONNX its number.
#include <string>

#include "graph/op_def.h"
#include "ops/attributes/codes.h"
#include "ops/shared/convert.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  // Opsets before 6 wrote the name, "FLOAT".
  const Dtype to =
      parser.opset < 6 ? dtype_from_name(attrs.s("to", "")) : dtype_from_onnx(attrs.i("to"));
  set_attribute<&CastAttributes::to>(attrs, to);
  parse_small_rounding(attrs);
}

void infer(Inference& inference) {
  inference.output(attribute_of<&CastAttributes::to>(inference.node), inference.inputs[0].shape);
}

void eval(const Eval& eval) {
  convert_elements(eval.inputs[0], eval.outputs[0], small_rounding(eval.node.attrs));
}

}  // namespace

extern constinit const OpDef kCast{.name = "Cast", .parse = parse, .infer = infer, .eval = eval};
}  // namespace octet
