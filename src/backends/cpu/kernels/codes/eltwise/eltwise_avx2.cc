// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/simd_avx2.h"

#define OCTET_ISA(name) name##_avx2
#include "backends/cpu/kernels/codes/eltwise/eltwise_body.h"
