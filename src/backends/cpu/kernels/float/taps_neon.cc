// SPDX-License-Identifier: Apache-2.0
// Scheduled before registers are given out, all loads of a step go first, and g++ 12 keeps weights in memory: a third more instructions.
#pragma GCC optimize "no-schedule-insns"
#include "backends/cpu/kernels/float/vec_neon.h"

#define OCTET_ISA(name) name##_neon
#include "backends/cpu/kernels/float/taps_body.h"

namespace octet {

void depthwise_taps_neon(const TapsArgs* args) { taps_of<float, float>(args); }
void depthwise_rows_neon(const TapRowsArgs* args) { rows_of<float, float>(args); }

}  // namespace octet
