// SPDX-License-Identifier: Apache-2.0
// Window functions of signal processing: a0 - a1 cos(x) + a2 cos(2x) for x from 0 to 2 pi.
#pragma once

#include "graph/op_def.h"

namespace octet {

class NodeParser;

struct SignalWindow {
  f64 a0, a1, a2;
};

void parse_signal_window(NodeParser& parser);
void infer_signal_window(Inference& inference);
void eval_signal_window(const Eval& eval, const SignalWindow& window);

}  // namespace octet
