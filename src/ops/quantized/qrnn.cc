// SPDX-License-Identifier: Apache-2.0
// QRNN: RNN whose products are of codes (docs/numerics.md section 5).
#include "ops/quantized/recurrent_forms.h"

namespace octet {
namespace {

const RecurrentKind& kind() { return recurrent_kind("RNN"); }

void infer(Inference& inference) { infer_recurrent_codes(inference, kind()); }
void eval(const Eval& eval) { eval_recurrent_codes(eval, kind(), rnn_cell); }

}  // namespace

extern constinit const OpDef kQRNN = recurrent_layer_of_codes("QRNN", {1, 2}, infer, eval);
}  // namespace octet
