// SPDX-License-Identifier: Apache-2.0
// RNN: h = f(W x + R h + b).
#include <algorithm>

#include "ops/quantized/recurrent_forms.h"
#include "ops/shared/recurrent.h"

namespace octet {

extern const OpDef kQRNN;

void rnn_cell(const CellStep& s) {
  const f32* h = s.factors(s.h);
  for (s64 j = 0; j < s.hidden; ++j)
    s.next[j] = s.functions[0](s.clipped(s.from_input(j) + s.from_state(j, h)));
  std::copy_n(s.next, s.hidden, s.h);
}

namespace {

const RecurrentKind& kind() { return recurrent_kind("RNN"); }

void infer(Inference& inference) { infer_recurrent(inference, kind()); }
void eval(const Eval& eval) { eval_recurrent(eval, kind(), rnn_cell); }

}  // namespace

extern constinit const OpDef kRNN = recurrent_layer<&kQRNN>(
    {.name = "RNN", .inputs = {3, 6}, .outputs = {0, 2}, .infer = infer, .eval = eval});
}  // namespace octet
