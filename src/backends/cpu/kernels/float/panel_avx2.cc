// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_avx2.h"

#define OCTET_ISA(name) name##_avx2
#include "backends/cpu/kernels/float/f32_panel.h"
#include "backends/cpu/kernels/float/panel_singles.h"
// In the words of those above.
#include "backends/cpu/kernels/float/panel_body.h"
