// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss: minus the log probability of each target's class, weighted; attributes reduction, ignore_index.
#include "ops/shared/float_io.h"
#include "ops/shared/loss.h"

namespace octet {
namespace {

void eval(const Eval& eval) { eval_loss(eval, FloatInput(eval, 0).values()); }

}  // namespace

extern constinit const OpDef kNegativeLogLikelihoodLoss{
    .name = "NegativeLogLikelihoodLoss", .inputs = {2, 3}, .infer = infer_loss, .eval = eval};
}  // namespace octet
