// SPDX-License-Identifier: Apache-2.0
// RNN: h = f(W x + R h + b).
#include <algorithm>

#include "ops/shared/recurrent.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

const RecurrentKind& kind() { return recurrent_kind("RNN"); }

void cell(const CellStep& s) {
  for (s64 j = 0; j < s.hidden; ++j)
    s.next[j] = s.functions[0](s.clipped(s.from_input(j) + s.from_state(j, s.h)));
  std::copy_n(s.next, s.hidden, s.h);
}

void infer(Inference& inference) { infer_recurrent(inference, kind()); }
void eval(const Eval& eval) { eval_recurrent(eval, kind(), cell); }

constexpr FloatAttribute kFloats[] = {{"clip", FloatDomain::non_negative}};
constexpr OpTraits kTraits{.macs = recurrence_macs, .floats = kFloats};

}  // namespace

extern constinit const OpDef kRNN{.name = "RNN",
                                  .domain = "",
                                  .inputs = {3, 6},
                                  .outputs = {0, 2},
                                  .infer = infer,
                                  .eval = eval,
                                  .traits = &kTraits};
}  // namespace octet
