// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/simd_neon.h"

#define OCTET_ISA(name) name##_neon
#include "backends/cpu/kernels/codes/eltwise/eltwise_body.h"
