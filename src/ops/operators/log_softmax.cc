// SPDX-License-Identifier: Apache-2.0
// LogSoftmax: y = (x - max(x)) - log(sum(exp(x - max(x)))); maximum and sum in 16 lanes.
#include "core/math.h"
#include "core/reduce.h"
#include "ops/shared/softmax.h"

namespace octet {
namespace {

void log_softmax_row(const f32* x, f32* y, s64 count, s64 step) {
  const f32 max = lane_max(count, [&](s64 i) { return x[i * step]; });
  const f32 log_sum = math_log(lane_sum(count, [&](s64 i) { return math_exp(x[i * step] - max); }));
  for (s64 i = 0; i < count; ++i) y[i * step] = (x[i * step] - max) - log_sum;
}

void eval(const Eval& eval) { eval_rows(eval, log_softmax_row); }

}  // namespace

extern constinit const OpDef kLogSoftmax{
    .name = "LogSoftmax", .parse = parse_softmax, .infer = infer_softmax, .eval = eval};
}  // namespace octet
