// SPDX-License-Identifier: Apache-2.0
// QGRU: GRU whose products are of codes (docs/numerics.md section 5). What the reset gate leaves of the state is rounded, too, where it is multiplied.
#include "ops/attributes/recurrent.h"
#include "ops/quantized/recurrent_forms.h"

namespace octet {
namespace {

const RecurrentKind& kind() { return recurrent_kind("GRU"); }

void infer(Inference& inference) { infer_recurrent_codes(inference, kind()); }
void eval(const Eval& eval) {
  const bool linear = attribute_of<&RecurrentShapeAttributes::linear_before_reset>(eval.node);
  eval_recurrent_codes(eval, kind(), linear ? gru_linear_cell : gru_cell);
}

}  // namespace

extern constinit const OpDef kQGRU = recurrent_layer_of_codes("QGRU", {1, 2}, infer, eval);
}  // namespace octet
