// SPDX-License-Identifier: Apache-2.0
// QLSTM: LSTM whose products are of codes (docs/numerics.md section 5).
#include "ops/quantized/recurrent_forms.h"

namespace octet {
namespace {

const RecurrentKind& kind() { return recurrent_kind("LSTM"); }

void infer(Inference& inference) { infer_recurrent_codes(inference, kind()); }
void eval(const Eval& eval) { eval_recurrent_codes(eval, kind(), lstm_cell); }

}  // namespace

extern constinit const OpDef kQLSTM = recurrent_layer_of_codes("QLSTM", {1, 3}, infer, eval);
}  // namespace octet
