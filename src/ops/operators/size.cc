// SPDX-License-Identifier: Apache-2.0
// Size(x): the number of elements as an s64 scalar. Never reads x's elements.
#include "graph/op_def.h"
#include "graph/op_traits.h"

namespace octet {
namespace {

void infer(Inference& inference) { inference.output(Dtype::s64, {}); }

void eval(const Eval& eval) { eval.outputs[0].as<s64>()[0] = eval.inputs[0].shape.elements(); }

constexpr OpTraits kTraits{.reads_types_only = true};

}  // namespace

extern constinit const OpDef kSize{
    .name = "Size", .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
