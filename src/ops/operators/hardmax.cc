// SPDX-License-Identifier: Apache-2.0
// Hardmax: 1 at the first maximum of each row, which NaN is, along attribute axis, 0 elsewhere.
#include "ops/shared/softmax.h"

namespace octet {
namespace {

void hardmax_row(const f32* x, f32* y, s64 count, s64 step) {
  s64 best = 0;
  for (s64 i = 0; i < count; ++i) {
    const f32 value = x[i * step], most = x[best * step];
    if (value > most || (value != value && most == most)) best = i;
  }
  for (s64 i = 0; i < count; ++i) y[i * step] = i == best ? 1.0f : 0.0f;
}

void eval(const Eval& eval) { eval_rows(eval, hardmax_row); }

}  // namespace

extern constinit const OpDef kHardmax{
    .name = "Hardmax", .parse = parse_softmax, .infer = infer_softmax, .eval = eval};
}  // namespace octet
