// SPDX-License-Identifier: Apache-2.0
// QGRU: GRU whose products are of codes (docs/numerics.md section 5). What the reset gate leaves of the state is rounded, too, where it is multiplied.
#include "graph/op_traits.h"
#include "ops/attributes/recurrent.h"
#include "ops/quantized/quantize_recurrent.h"
#include "ops/quantized/zero_points.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

const RecurrentKind& kind() { return recurrent_kind("GRU"); }

void infer(Inference& inference) { infer_recurrent_codes(inference, kind()); }
void eval(const Eval& eval) {
  const bool linear = attribute_of<&RecurrentShapeAttributes::linear_before_reset>(eval.node);
  eval_recurrent_codes(eval, kind(), linear ? gru_linear_cell : gru_cell);
}

constexpr OpTraits kTraits{.macs = recurrence_macs,
                           .codes = CodeMeaning::attributes,
                           .verify = verify_zero_points,
                           .s8_weights = true};

}  // namespace

extern constinit const OpDef kQGRU{.name = "QGRU",
                                   .domain = "octet",
                                   .inputs = {3, 9},
                                   .outputs = {1, 2},
                                   .infer = infer,
                                   .eval = eval,
                                   .traits = &kTraits};
}  // namespace octet
