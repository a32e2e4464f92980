// SPDX-License-Identifier: Apache-2.0
// Elementwise a == b with broadcasting.
#include "ops/shared/forms.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  infer_broadcast(inference);  // bool is compared too
  inference.outputs[0].dtype = Dtype::boolean;
}

void eval(const Eval& eval) {
  eval_compare(eval, [](auto a, auto b) { return a == b; });
}

}  // namespace

extern constinit const OpDef kEqual = broadcast_pair("Equal", infer, eval, parse_legacy_broadcast);
}  // namespace octet
