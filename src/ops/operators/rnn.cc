// SPDX-License-Identifier: Apache-2.0
// RNN: h = f(W x + R h + b).
#include <algorithm>

#include "ops/quantized/quantize_recurrent.h"
#include "ops/shared/recurrent.h"
#include "ops/shared/work.h"

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

constexpr FloatAttribute kFloats[] = {{"clip", FloatDomain::non_negative}};
constexpr OpTraits kTraits{
    .macs = recurrence_macs, .floats = kFloats, .recurrence_of_codes = &kQRNN};

}  // namespace

extern constinit const OpDef kRNN{
    .name = "RNN",
    .domain = "",
    .inputs = {3, 6},
    .outputs = {0, 2},
    .infer = infer,
    .eval = eval,
    .quant = {.kind = QuantKind::compute, .quantize = quantize_recurrent},
    .traits = &kTraits};
}  // namespace octet
