// SPDX-License-Identifier: Apache-2.0
// Elementwise logical not.
#include "graph/op_def.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::boolean);
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const auto src = eval.inputs[0].as<bool>();
  const auto dst = eval.outputs[0].as<bool>();
  for (size_t i = 0; i < dst.size(); ++i) dst[i] = !src[i];
}

}  // namespace

extern constinit const OpDef kNot{.name = "Not", .infer = infer, .eval = eval};
}  // namespace octet
