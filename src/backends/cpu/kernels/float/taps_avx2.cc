// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_avx2.h"

#define OCTET_ISA(name) name##_avx2
#include "backends/cpu/kernels/float/taps_body.h"

namespace octet {

void depthwise_taps_avx2(const TapsArgs* args) { taps_of<float, float>(args); }
void depthwise_rows_avx2(const TapRowsArgs* args) { rows_of<float, float>(args); }

}  // namespace octet
