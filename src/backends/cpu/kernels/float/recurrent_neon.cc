// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/float/vec_neon.h"

#define OCTET_ISA(name) name##_neon
#include "backends/cpu/kernels/float/recurrent_body.h"
