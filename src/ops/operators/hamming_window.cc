// SPDX-License-Identifier: Apache-2.0
// HammingWindow(size) {periodic, output_datatype}.
#include "ops/shared/signal_window.h"

namespace octet {
namespace {

void eval(const Eval& eval) { eval_signal_window(eval, {25.0 / 46.0, 21.0 / 46.0, 0.0}); }

}  // namespace

extern constinit const OpDef kHammingWindow{.name = "HammingWindow",
                                            .parse = parse_signal_window,
                                            .infer = infer_signal_window,
                                            .eval = eval};
}  // namespace octet
