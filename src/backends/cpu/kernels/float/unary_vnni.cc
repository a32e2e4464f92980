// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_vnni.h"

#define OCTET_ISA(name) name##_vnni
#include "backends/cpu/kernels/float/f32_ends.h"

// In the words of the one above.
#include "backends/cpu/kernels/float/unary_body.h"
