// SPDX-License-Identifier: Apache-2.0
// GRU, gates in the order z, r, h: h = (1 - z) * g(..) + z * h. The reset gate acts on the state, or with
// linear_before_reset on what the weights make of it.
#include <algorithm>

#include "ops/attributes/recurrent.h"
#include "ops/quantized/recurrent_forms.h"
#include "ops/shared/recurrent.h"

namespace octet {

extern const OpDef kQGRU;

namespace {

const RecurrentKind& kind() { return recurrent_kind("GRU"); }

// sums[0, H): z; sums[H, 2H): r.
void gates(const CellStep& s, const f32* h) {
  for (s64 row = 0; row < 2 * s.hidden; ++row)
    s.sums[row] = s.functions[0](s.clipped(s.from_input(row) + s.from_state(row, h)));
}

void finish(const CellStep& s) {
  for (s64 j = 0; j < s.hidden; ++j) {
    const f32 z = s.sums[j];
    s.h[j] = (1.0f - z) * s.functions[1](s.clipped(s.next[j])) + z * s.h[j];
  }
}

}  // namespace

void gru_cell(const CellStep& s) {
  const s64 n = s.hidden;
  gates(s, s.factors(s.h));
  f32* reset = s.sums + 2 * n;
  for (s64 j = 0; j < n; ++j) reset[j] = s.sums[n + j] * s.h[j];
  const f32* h = s.factors(reset);
  for (s64 j = 0; j < n; ++j) s.next[j] = s.from_input(2 * n + j) + s.from_state(2 * n + j, h);
  finish(s);
}

void gru_linear_cell(const CellStep& s) {
  const s64 n = s.hidden;
  const f32* h = s.factors(s.h);
  gates(s, h);
  for (s64 j = 0; j < n; ++j)
    s.next[j] = s.from_input(2 * n + j) + s.sums[n + j] * s.from_state(2 * n + j, h);
  finish(s);
}

namespace {

void infer(Inference& inference) { infer_recurrent(inference, kind()); }
void eval(const Eval& eval) {
  const bool linear = attribute_of<&RecurrentShapeAttributes::linear_before_reset>(eval.node);
  eval_recurrent(eval, kind(), linear ? gru_linear_cell : gru_cell);
}

}  // namespace

extern constinit const OpDef kGRU = recurrent_layer<&kQGRU>(
    {.name = "GRU", .inputs = {3, 6}, .outputs = {0, 2}, .infer = infer, .eval = eval});
}  // namespace octet
