// SPDX-License-Identifier: Apache-2.0
// com.microsoft QLinearSoftmax, which only ONNX files have: Softmax of codes, of the opset that its attribute names.
#include "ops/attributes/normalization.h"
#include "ops/quantized/qlinear_chain.h"
#include "ops/shared/contrib.h"

namespace octet {
namespace {

constexpr s64 kFirstAlongOneAxis = 13;

void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  const s64 opset = attrs.i("opset", kFirstAlongOneAxis);
  attrs.erase("opset");
  if (!has_attribute<&SoftmaxAttributes::axis>(parser.node))
    set_attribute<&SoftmaxAttributes::axis>(attrs, opset < kFirstAlongOneAxis ? 1 : -1);
  if (opset < kFirstAlongOneAxis) set_attribute<&SoftmaxAttributes::flatten>(attrs, true);
  parse_qlinear_unary(parser, "Softmax");
}

}  // namespace

extern constinit const OpDef kQLinearSoftmax = contrib_operator("QLinearSoftmax", {4, 5}, parse);
}  // namespace octet
