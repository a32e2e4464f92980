// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_avx2.h"

#define OCTET_ISA(name) name##_avx2
#include "backends/cpu/kernels/float/f32_ends.h"

// In the words of the one above.
#include "backends/cpu/kernels/float/binary_body.h"
