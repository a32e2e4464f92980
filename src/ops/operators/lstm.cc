// SPDX-License-Identifier: Apache-2.0
// LSTM, gates in the order i, o, f, c: c = f * c + i * g(..), h = o * h(c). Peepholes add the cell to i, f (before) and o
// (after); input_forget makes f = 1 - i.
#include <algorithm>

#include "ops/attributes/recurrent.h"
#include "ops/quantized/recurrent_forms.h"
#include "ops/shared/recurrent.h"

namespace octet {

extern const OpDef kQLSTM;

namespace {

const RecurrentKind& kind() { return recurrent_kind("LSTM"); }

template <bool kInputForget>
void cell(const CellStep& s) {
  const s64 n = s.hidden;
  const auto peephole = [&](s64 gate, s64 j) {
    return s.peepholes == nullptr ? 0.0f : s.peepholes[gate * n + j] * s.c[j];
  };
  const f32* h = s.factors(s.h);
  for (s64 row = 0; row < 4 * n; ++row) s.sums[row] = s.from_input(row) + s.from_state(row, h);
  for (s64 j = 0; j < n; ++j) {
    const f32 i = s.functions[0](s.clipped(s.sums[j] + peephole(0, j)));
    const f32 f =
        kInputForget ? 1.0f - i : s.functions[0](s.clipped(s.sums[2 * n + j] + peephole(2, j)));
    s.c[j] = f * s.c[j] + i * s.functions[1](s.clipped(s.sums[3 * n + j]));
    const f32 o = s.functions[0](s.clipped(s.sums[n + j] + peephole(1, j)));
    s.h[j] = o * s.functions[2](s.c[j]);
  }
}

void infer(Inference& inference) { infer_recurrent(inference, kind()); }
void eval(const Eval& eval) {
  const bool coupled = attribute_of<&RecurrentAttributes::input_forget>(eval.node);
  eval_recurrent(eval, kind(), coupled ? cell<true> : cell<false>);
}

}  // namespace

void lstm_cell(const CellStep& step) { cell<false>(step); }

extern constinit const OpDef kLSTM = recurrent_layer<&kQLSTM>(
    {.name = "LSTM", .inputs = {3, 8}, .outputs = {0, 3}, .infer = infer, .eval = eval});
}  // namespace octet
