// SPDX-License-Identifier: Apache-2.0
// BlackmanWindow(size) {periodic, output_datatype}.
#include "ops/shared/signal_window.h"

namespace octet {
namespace {

void eval(const Eval& eval) { eval_signal_window(eval, {0.42, 0.5, 0.08}); }

}  // namespace

extern constinit const OpDef kBlackmanWindow{.name = "BlackmanWindow",
                                             .parse = parse_signal_window,
                                             .infer = infer_signal_window,
                                             .eval = eval};
}  // namespace octet
