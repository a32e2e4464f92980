// SPDX-License-Identifier: Apache-2.0
// Inference and evaluation of ArgMax and ArgMin {axis=0, keepdims=1, select_last_index=0}. NaN wins, as in numpy.
#pragma once

#include "graph/op_def.h"

namespace octet {

void infer_arg_extreme(Inference& inference);
void eval_arg_extreme(const Eval& eval, bool largest);

}  // namespace octet
