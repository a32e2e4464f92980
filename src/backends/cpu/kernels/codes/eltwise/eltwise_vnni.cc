// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/simd_vnni.h"

#define OCTET_ISA(name) name##_vnni
#include "backends/cpu/kernels/codes/eltwise/eltwise_body.h"
