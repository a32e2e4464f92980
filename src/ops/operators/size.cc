// SPDX-License-Identifier: Apache-2.0
// Size(x): the number of elements as an s64 scalar. Never reads x's elements.
#include "graph/op_def.h"

namespace octet {
namespace {

void infer(Inference& inference) { inference.output(Dtype::s64, {}); }

void eval(const Eval& eval) { eval.outputs[0].as<s64>()[0] = eval.inputs[0].shape.elements(); }

}  // namespace

extern constinit const OpDef kSize{.name = "Size",
                                   .domain = "",
                                   .inputs = {1, 1},
                                   .outputs = {1, 1},
                                   .infer = infer,
                                   .eval = eval};
}  // namespace octet
