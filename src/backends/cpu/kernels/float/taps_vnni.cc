// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_vnni.h"

#define OCTET_ISA(name) name##_vnni
#include "backends/cpu/kernels/float/taps_body.h"

namespace octet {

void depthwise_taps_vnni(const TapsArgs* args) { taps_of<float, float>(args); }
void depthwise_rows_vnni(const TapRowsArgs* args) { rows_of<float, float>(args); }

}  // namespace octet
