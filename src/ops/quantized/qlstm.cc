// SPDX-License-Identifier: Apache-2.0
// QLSTM: LSTM whose products are of codes (docs/numerics.md section 5).
#include "graph/op_traits.h"
#include "ops/quantized/quantize_recurrent.h"
#include "ops/quantized/zero_points.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

const RecurrentKind& kind() { return recurrent_kind("LSTM"); }

void infer(Inference& inference) { infer_recurrent_codes(inference, kind()); }
void eval(const Eval& eval) { eval_recurrent_codes(eval, kind(), lstm_cell); }

constexpr OpTraits kTraits{.macs = recurrence_macs,
                           .codes = CodeMeaning::attributes,
                           .verify = verify_zero_points,
                           .s8_weights = true};

}  // namespace

extern constinit const OpDef kQLSTM{.name = "QLSTM",
                                    .domain = "octet",
                                    .inputs = {3, 9},
                                    .outputs = {1, 3},
                                    .infer = infer,
                                    .eval = eval,
                                    .traits = &kTraits};
}  // namespace octet
