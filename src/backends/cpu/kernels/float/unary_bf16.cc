// SPDX-License-Identifier: Apache-2.0
// What reads or writes bf16.
#include "backends/cpu/kernels/float/vec_bf16.h"

#define OCTET_ISA(name) name##_bf16
#include "backends/cpu/kernels/float/bf16_ends.h"

// In the words of the one above.
#include "backends/cpu/kernels/float/unary_body.h"
