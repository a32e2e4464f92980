// SPDX-License-Identifier: Apache-2.0
// AlignAxis(b, a) {axis}: b with ones appended to its shape, so that its axes meet those of `a` from `axis` on. It stands
// for the broadcast attributes of opsets before 7, whose effect depends on a's rank.
#include "graph/attributes.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

struct AlignAxisAttributes {
  s64 axis = 0;

  OCTET_REQUIRED_ATTRIBUTES(axis)
};

void infer(Inference& inference) {
  const Shape& b = inference.inputs[0].shape;
  const int rank = inference.inputs[1].shape.rank();
  const s64 axis = attribute_of<&AlignAxisAttributes::axis>(inference.node);
  const int first = axis == rank ? rank : normalize_axis(axis, rank);
  if (first + b.rank() > rank) {
    fail(Error::Code::invalid_model, "shape {} does not fit into {} from axis {} on", to_string(b),
         to_string(inference.inputs[1].shape), axis);
  }
  Shape shape = b;
  while (first + shape.rank() < rank) shape.push_back(1);
  inference.output(inference.inputs[0].dtype, shape);
}

}  // namespace

extern constinit const OpDef kAlignAxis{.name = "AlignAxis",
                                        .domain = "octet",
                                        .inputs = {2, 2},
                                        .infer = infer,
                                        .eval = eval_copy,
                                        .quant = kMovesCodes};
}  // namespace octet
