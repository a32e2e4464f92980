// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_vnni.h"

#define OCTET_ISA(name) name##_vnni
#include "backends/cpu/kernels/float/f32_panel.h"
#include "backends/cpu/kernels/float/panel_singles.h"
// In the words of those above.
#include "backends/cpu/kernels/float/panel_body.h"
